package kind

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// realTime is how long the tests of packages may take that make containers and clusters.
const realTime = 20 * time.Minute

// Unit tests of packages with real containers, one by one: a boot that is canceled, failed and reaped, beside containers
// of another owner; the serial number; disks; the cut of a network.
func TestPackages(t *testing.T) {
	h := newHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), realTime)
	defer cancel()
	c := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-p", "1", "-run", "^TestReal", "./pkg/cluster/kind/...")
	c.Dir = "../.."
	c.Env = append(os.Environ(), "DOCKER_HOST="+engine.host(), "KIND_NODE_IMAGE="+node, "VSPHERE_SANDBOX_TEST_NODE_IMAGE="+node)
	c.WaitDelay = time.Minute
	begin := time.Now()
	out, err := c.CombinedOutput()
	took(t, "tests of packages", begin)
	verdicts := regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): .*`).FindAllString(string(out), -1)
	for _, v := range verdicts {
		t.Log(v)
	}
	if err != nil || len(verdicts) == 0 {
		t.Fatalf("go test: %v\n%s", err, out)
	}
	h.nothingLeft()
}
