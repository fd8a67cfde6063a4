// Package ccm has the commands for the cloud controller manager that runs in a sandbox, and the flags that select it.
//
// Floor 5.
package ccm
