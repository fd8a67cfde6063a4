// Package doors has tests of the smaller APIs of a vCenter, each at its path: users, services, tokens, agents, vSAN, leases, and those
// of REST. The same calls go to stock vcsim and to a simulated vCenter, whose answers may differ in what is named; and the calls,
// changed at random, must always get an answer.
//
// Floor 5.
package doors
