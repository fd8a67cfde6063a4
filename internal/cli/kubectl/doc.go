// Package kubectl is the command that passes its arguments to the kubectl that is built in, aimed at a sandbox.
//
// Upstream's kubectl is written to own its process: it reads the environment, keeps global state, and ends the process
// on errors. It runs once per process, as the last thing in it; [Main] turns its ways of ending into an exit status.
package kubectl
