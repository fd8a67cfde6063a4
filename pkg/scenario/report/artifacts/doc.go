// Package artifacts leaves a run behind in a directory, laid out as TestGrid and Spyglass read it:
//
//	started.json            when, and what of
//	finished.json           when, how it ended, with versions, speed and seed
//	build-log.txt           the progress of the run
//	report.html             the page
//	artifacts/
//	  junit_NAME.xml
//	  result.json           the whole result
//	  events.jsonl          every event of every sandbox
//	  calls.json            calls to the vCenters, by client and method
//	  logs/N-COMPONENT.log
//	  objects/N-nodes.yaml  and events, pods, leases …: never Secrets
//	  recordings/N-recording.jsonl  what tui --replay plays
//	  inventory/N-vms.json  and hosts, datacenters, vcenters, zones …
//
// N numbers the sandboxes of the run. Files are for their owner only. Passwords, keys and tokens that stand in a text are
// masked in it ([Dir.Mask]).
//
// Floor 4.
package artifacts
