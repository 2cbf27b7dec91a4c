# Writes attnlab/tasks/forecasting/sunspots.csv from R's datasets::sunspots. Needs R alone (Debian: r-base-core).
# From the project's top folder:  Rscript scripts/sunspots.R
values <- datasets::sunspots
stopifnot(length(values) == 2820, frequency(values) == 12, all(start(values) == c(1749, 1)))

year <- floor(time(values) + 1e-6)
lines <- c(
  "# Monthly mean relative sunspot numbers, January 1749 to December 1983, Zurich observatory until 1960,",
  "# Tokyo after. Source: datasets::sunspots of R, after Andrews, D. F. and Herzberg, A. M. (1985) Data:",
  "# A Collection of Problems from Many Fields for the Student and Research Worker, Springer.",
  sprintf("# Written by scripts/sunspots.R with R %s.", getRversion()),
  "month,sunspots",
  sprintf("%04d-%02d,%.1f", year, cycle(values), values)
)
con <- file("attnlab/tasks/forecasting/sunspots.csv", open = "wb")
writeLines(lines, con, sep = "\n")
close(con)
