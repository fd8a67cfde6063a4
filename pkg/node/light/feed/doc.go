// Package feed is how a program that makes nodes of many machines learns what becomes of them: a stream of JSON lines over
// HTTP. A [Source] is the side that knows: it is told of each change, and tells any number of readers what there is and then
// what changes; [Follow] is a reader, over a unix socket or HTTPS, that never gives up.
//
//	GET /v1/machines
//	{"machine":{"id":"us/vm-21","name":"worker-1","state":"running","uuid":"…","cpus":2,…}}
//	{"synced":true}
//	{"machine":{"id":"us/vm-21","name":"worker-1","state":"stopped",…}}
//
// A reader that is slow is told less, never something old: of each machine only the last state counts.
//
// Floor 2; it imports nothing of this module.
package feed
