// Package govc is the command that passes its arguments to the govc that is built in, aimed at a sandbox's vCenters.
//
// Upstream's govc is written to own its process: its commands are global, read the environment and are run once. With
// one vCenter it runs here, as the last thing in the process; for several, this program runs itself once for each.
package govc
