// Package record is the command that makes a topology file of chosen parts of real vCenters, which a sandbox then runs
// offline.
package record
