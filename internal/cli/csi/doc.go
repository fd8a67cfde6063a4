// Package csi is the flags by which a command chooses what volumes a sandbox has.
//
// Floor 5.
package csi
