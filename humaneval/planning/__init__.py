"""What a study can find out, and what it costs, before anybody is paid: power, widths, spammers, money and
hours."""
