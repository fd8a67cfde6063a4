package govc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSuiteForVcsim runs a suite that is made for vcsim, with ours in its place by PATH alone.
func TestSuiteForVcsim(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"vcsim", "govc"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	suite, err := filepath.Abs("testdata/vcsim.sh")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, "sh", suite, t.TempDir())
	cmd.Env = []string{"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + home, "GOVMOMI_HOME=" + home, "TMPDIR=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "checks passed") {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("%s", output)
}
