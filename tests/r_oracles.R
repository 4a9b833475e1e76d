# Reference values of the statistics for preferences and ratings, by other programs than ours.
# Reads tables of the working folder, each called as the function of tests/made_up_answers.py that makes it.
# R 4.2.2, BradleyTerry2 1.1-2, ordinal 2022.11-16, lme4 1.1-31, numDeriv.
suppressMessages({
    library(BradleyTerry2)
    library(ordinal)
    library(lme4)
})
say <- function(name, ...) cat(name, formatC(c(...), digits = 10, format = "g"), "\n")

effective <- function(cluster) sum(table(cluster))^2 / sum(table(cluster)^2)
two_way <- function(scores, worker, story) {
    one <- function(cluster) {
        sums <- rowsum(scores, cluster)
        g <- effective(cluster)
        g / (g - 1) * t(sums) %*% sums
    }
    one(worker) + one(story) - one(paste(worker, story))
}

p <- read.csv("preferences.csv")
systems <- c("bert", "human", "ilm", "lm", "sa")
reference <- "bert"

# Ties left out: Bradley and Terry's model, clustered.
told <- p[p$outcome != 0, ]
told$one <- factor(told$first, levels = systems)
told$other <- factor(told$second, levels = systems)
fit <- BTm(cbind(outcome == 1, outcome == -1), one, other, data = told, refcat = reference)
say("plain strengths", coef(fit))
say("plain errors", sqrt(diag(vcov(fit))))
x <- model.matrix(fit)
scores <- x * (as.numeric(told$outcome == 1) - fitted(fit))
clustered <- vcov(fit) %*% two_way(scores, told$worker, told$story) %*% vcov(fit)
say("plain clustered errors", sqrt(diag(clustered)))
say("plain log likelihood", logLik(fit))

# Davidson's model of ties as a log-linear one: for each comparison three counts, of which one is 1.
long <- do.call(rbind, lapply(c(1, 0, -1), function(answer) {
    data.frame(bout = seq_len(nrow(p)), count = as.numeric(p$outcome == answer), tie = as.numeric(answer == 0),
        sapply(systems[-1], function(s) answer / 2 * ((p$first == s) - (p$second == s))))
}))
log_linear <- glm(count ~ factor(bout) + human + ilm + lm + sa + tie - 1, family = poisson, data = long,
    control = glm.control(epsilon = 1e-13))
theta <- coef(log_linear)[c(systems[-1], "tie")]
say("davidson strengths", theta)
say("davidson errors", sqrt(diag(vcov(log_linear)))[c(systems[-1], "tie")])
by_bout <- function(theta) {
    strength <- c(bert = 0, theta[1:4])
    half <- (strength[p$first] - strength[p$second]) / 2
    odds <- cbind(exp(half), exp(theta[5]), exp(-half))
    log((odds / rowSums(odds))[cbind(seq_len(nrow(p)), 2 - p$outcome)])
}
names(theta) <- c(systems[-1], "tie")
scores <- numDeriv::jacobian(function(at) by_bout(setNames(at, names(theta))), theta)
bread <- solve(-numDeriv::hessian(function(at) sum(by_bout(setNames(at, names(theta)))), theta))
say("davidson clustered errors", sqrt(diag(bread %*% two_way(scores, p$worker, p$story) %*% bread)))
say("davidson log likelihood", sum(by_bout(theta)))

# Stigler's citations between four journals of statistics, as BradleyTerry2 has them.
data(citations)
journals <- countsToBinomial(citations)
names(journals)[1:2] <- c("journal1", "journal2")
cited <- BTm(cbind(win1, win2), journal1, journal2, data = journals)
say("citations strengths", coef(cited))
say("citations errors", sqrt(diag(vcov(cited))))

# A cumulative-link mixed model, the same without generators, and that of the wines (Randall 1989).
r <- read.csv("ratings.csv")
r$generator <- factor(r$generator, levels = unique(r$generator))
full <- clmm(factor(rating) ~ generator + (1 | worker) + (1 | story), data = r)
null <- clmm(factor(rating) ~ 1 + (1 | worker) + (1 | story), data = r)
effects <- names(coef(full))[grep("generator", names(coef(full)))]
say("clmm effects", coef(full)[effects])
say("clmm errors", sqrt(diag(vcov(full)))[effects])
say("clmm thresholds", full$alpha)
say("clmm threshold errors", sqrt(diag(vcov(full)))[names(full$alpha)])
say("clmm deviations", sqrt(unlist(VarCorr(full)[c("worker", "story")])))
say("clmm log likelihood", logLik(full), logLik(null))
data(wine)
tasted <- clmm(rating ~ temp + contact + (1 | judge), data = wine)
say("wine", coef(tasted), tasted$ST[[1]], logLik(tasted))
say("wine errors", sqrt(diag(vcov(tasted)))[names(coef(tasted))])

# With two points the model is the logistic one.
high <- glmer(as.numeric(rating > 3) ~ generator + (1 | worker) + (1 | story), data = r, family = binomial,
    control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5)))
say("glmer effects", fixef(high)[-1])
say("glmer log likelihood", logLik(high))

# Without ties, one worker with a single answer; human always wins, so that no strength of it is finite.
u <- read.csv("uneven_preferences.csv")
u <- u[u$first != "human" & u$second != "human", ]
u$one <- factor(u$first, levels = setdiff(systems, "human"))
u$other <- factor(u$second, levels = setdiff(systems, "human"))
fit <- BTm(cbind(outcome == 1, outcome == -1), one, other, data = u, refcat = reference)
say("uneven strengths", coef(fit))
say("uneven errors", sqrt(diag(vcov(fit))))
say("uneven log likelihood", logLik(fit))

# A point that nobody gave, one worker with a single rating; bert has the lowest alone, and no finite effect.
u <- read.csv("uneven_ratings.csv")
u <- u[u$generator != "bert", ]
u$generator <- factor(u$generator, levels = unique(u$generator))
fit <- clmm(factor(rating) ~ generator + (1 | worker) + (1 | story), data = u)
effects <- names(coef(fit))[grep("generator", names(coef(fit)))]
say("uneven clmm effects", coef(fit)[effects])
say("uneven clmm errors", sqrt(diag(vcov(fit)))[effects])
say("uneven clmm thresholds", fit$alpha)
say("uneven clmm deviations", sqrt(unlist(VarCorr(fit)[c("worker", "story")])))
say("uneven clmm log likelihood", logLik(fit))
fit <- suppressMessages(glmer(as.numeric(rating > 4) ~ generator + (1 | worker) + (1 | story), data = u,
    family = binomial, control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5))))
say("uneven glmer effects", fixef(fit)[-1])
say("uneven glmer log likelihood", logLik(fit))

# Neither workers nor stories vary more than chance, so that the mixed model is the plain one.
few <- read.csv("few_ratings.csv")
few$generator <- factor(few$generator, levels = unique(few$generator))
fit <- clm(factor(rating) ~ generator, data = few)
say("few clm effects", round(coef(fit)[grep("generator", names(coef(fit)))], 8))
say("few clm thresholds", fit$alpha)
say("few clm log likelihood", logLik(fit))
