// Package stocksim is vcsim as a program gets it that follows govmomi's own examples: one model, one server, no
// correction of ours.
//
// It is there to be measured against, by hack/benchsim; nothing else should need it. A topology that leaves all
// corrections out (spec.stock) is still built by our builder.
//
// Floor 2, inside pkg/sim.
package stocksim
