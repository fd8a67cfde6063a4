// Package volume is the vocabulary between the CSI services and what talks to vCenters: plain types, the errors that a
// gRPC code is made of, and two interfaces, [Store] (CNS of all vCenters) and [Nodes] (which VM a node is, and where
// volumes for it may lie).
//
// Floor 1: it imports nothing of this module.
package volume
