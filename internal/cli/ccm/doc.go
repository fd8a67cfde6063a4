// Package ccm is the commands about the cloud controller manager that runs in a sandbox, and the flags by which commands
// that boot one are told which.
//
// Floor 5.
package ccm
