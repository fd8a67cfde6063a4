// Package artifacts writes a run to a directory with the layout of TestGrid and Spyglass:
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
// N numbers the sandboxes of the run. Only the owner may read the files. Passwords, keys and tokens in texts are masked
// ([Dir.Mask]).
//
// Floor 4.
package artifacts
