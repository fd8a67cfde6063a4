// Package health serves the probes of the cloud provider over plain HTTP on a loopback address, where a kubelet on the
// host's network finds them.
//
//	/healthz           the process is alive. It says nothing of vCenters: a restart mends none
//	/readyz            every vCenter is connected and its inventory in sync; ?verbose lists them
//	/readyz/<tenant>   one of them
//	/metrics           whatever handler is given
//
// A process that does not lead follows no vCenter, and is ready: "standby".
//
// Answers give reasons, which are for those who are on the host.
//
// Floor 1: it imports nothing of this module.
package health
