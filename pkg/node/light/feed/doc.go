// Package feed streams the state of many machines to a program that creates their nodes, as JSON lines over HTTP. A
// [Source] is the server: [Source.Set] changes a machine, and each reader gets all machines first and then the changes.
// [Follow] is the reader, over a unix socket or HTTPS; it reconnects until its context ends.
//
//	GET /v1/machines
//	{"machine":{"id":"us/vm-21","name":"worker-1","state":"running","uuid":"…","cpus":2,…}}
//	{"synced":true}
//	{"machine":{"id":"us/vm-21","name":"worker-1","state":"stopped",…}}
//
// A slow reader skips states, but never gets an outdated one: only the last state of a machine is kept.
//
// Floor 2; it imports nothing of this module.
package feed
