// Package reported has what people reported about vSphere cloud controller managers happen again: our CCM runs as the
// account that its manifest gives it, on a real control plane, against simulated vCenters, and each report is a subtest
// that would fail if what was seen came back. "go test -v" prints which issue is which subtest.
//
// With -ccm PATH the same happens to another CCM, an upstream release for one. Then nothing fails: the table says of each
// report whether it comes out as with ours or as it was reported, which is the proof that the tests can fail.
//
// Floor 5: tests only.
package reported
