// Package topology is the commands about topologies as they are written: whether they are right, what they come to, what
// they look like; those need no sandbox. Apply brings one that runs to a topology.
package topology
