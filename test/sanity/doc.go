// Package sanity runs csi-test's sanity suite, all of it, against this module's CSI driver: the controller over vCenters in
// memory with the node service on each of its back-ends, and the controller over simulated vCenters with hollow nodes.
//
//	go test ./test/sanity
//
// Both services are on one socket, as the suite wants them, with what every call of the real driver goes through. A test
// of the suite that is skipped fails the run, unless it is about something that the driver does not claim to do.
package sanity
