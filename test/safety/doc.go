// Package safety proves that no outage of a vCenter costs a node that should stay, and that every node that should go
// goes when the outage is over: DESIGN.md calls these the safety rules of the cloud provider.
//
// TestMatrix goes through every kind of outage, with a CCM that runs on and with one that is started again in the midst
// of it, and in each has nodes in every state at two vCenters, of which one is broken. It prints what became of them:
//
//	go test ./test/safety -v                          the whole matrix, 64 rows, about thirteen minutes
//	go test ./test/safety -v -core                    the few rows that stand for all of them; so does -short
//	go test ./test/safety -v -rows 'hung|503/running' these rows; remembered_test.go has "hidden|vsphere.conf|UUID"
//	go test ./test/safety -v -ccm PATH                another CCM, an upstream release for one:
//	                                                  $(vsphere-sandbox ccm fetch module:v1.36.0)
//	go test ./test/safety -v -with --parity=upstream  ours with more flags
//
// A CCM that is not safe fails it. Upstream's v1.36.0 loses nodes when it is started again while its account sees datacenters
// and no VMs in them, gives no shutdown taint, and has nodes of one vCenter wait for another that hangs. TestJudge shows
// without any CCM that everything the matrix looks for is found.
//
// Floor 5.
package safety
