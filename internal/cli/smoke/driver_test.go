package smoke

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

// A report as Ginkgo writes it: what is done before and after all tests is no test.
const sanityReport = `<testsuites tests="6" disabled="2" errors="0" failures="1" time="3.1">
  <testsuite name="CSI Driver Test Suite" tests="6">
    <testcase name="[BeforeSuite]" classname="s" status="passed" time="0"></testcase>
    <testcase name="[It] Node Service NodeGetInfo should return appropriate values" classname="s" status="failed" time="0.01">
      <failure message="Expected&#xA;    &lt;*status.Error&gt;:&#xA;    rpc error: code = Internal desc = no&#xA;to be nil" type="failed"></failure>
    </testcase>
    <testcase name="[It] Identity Service Probe should return" classname="s" status="passed" time="0"></testcase>
    <testcase name="[It] Controller Service CreateVolume works" classname="s" status="timedout" time="60"></testcase>
    <testcase name="[It] Group Controller" classname="s" status="skipped" time="0"></testcase>
    <testcase name="[It] ListVolumes pagination" classname="s" status="pending" time="0"></testcase>
  </testsuite>
</testsuites>`

func TestReadSanity(t *testing.T) {
	got, err := readSanity([]byte(sanityReport))
	want := smoke.Sanity{Passed: 1, Skipped: 2, Failed: []smoke.SanityFailure{
		{Test: "Node Service NodeGetInfo should return appropriate values", Reason: "Expected rpc error: code = Internal desc = no"},
		{Test: "Controller Service CreateVolume works", Reason: "timedout"},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, text := range []string{"", "<testsuites></testsuites>", "panic: no"} {
		if got, err := readSanity([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
