// Package topology is the commands about topologies as they are written: whether they are right, what they come to, what
// they look like. They need no sandbox.
package topology
