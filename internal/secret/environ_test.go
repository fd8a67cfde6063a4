package secret_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

func TestSplit(t *testing.T) {
	open, secrets := secret.Split([]string{
		"PATH=/bin", "GOVC_PASSWORD=a", "GOVC_PASSWORD=", "GOVC_URL=vc.local", "GOVC_URL=root:b@vc.local/sdk", "GOVC_URL=https://u:c%20d@vc/sdk",
		"VSPHERE_SANDBOX_PASSWORD=e=f", "VSPHERE_SANDBOX_SECRETS_FD=9", "GOVC_USERNAME=root",
	})
	if want := []string{"PATH=/bin", "GOVC_PASSWORD=", "GOVC_URL=vc.local", "GOVC_USERNAME=root"}; !slices.Equal(open, want) {
		t.Errorf("open: %q", open)
	}
	if want := []string{"GOVC_PASSWORD=a", "GOVC_URL=root:b@vc.local/sdk", "GOVC_URL=https://u:c%20d@vc/sdk", "VSPHERE_SANDBOX_PASSWORD=e=f"}; !slices.Equal(secrets, want) {
		t.Errorf("secrets: %q", secrets)
	}
	got := secret.Variables(func(name string) string {
		return map[string]string{"GOVC_PASSWORD": "a", "GOVC_URL": "https://u:c%20d@vc/sdk", "PATH": "/bin"}[name]
	})
	if !slices.Equal(got, []string{"a", "c d"}) {
		t.Errorf("variables: %q", got)
	}
}

// A process finds what was handed to it, and its environment does not have it.
func TestHand(t *testing.T) {
	if os.Getenv("SECRET_TEST_CHILD") != "" {
		err := secret.Inherit()
		environ, _ := os.ReadFile("/proc/self/environ")
		if err != nil || os.Getenv("GOVC_PASSWORD") != "hunter2" || os.Getenv("VSPHERE_SANDBOX_SECRETS_FD") != "" || strings.Contains(string(environ), "hunter2") {
			t.Fatalf("%v; GOVC_PASSWORD=%q; environ %q", err, os.Getenv("GOVC_PASSWORD"), environ)
		}
		return
	}
	f, variable, err := secret.Hand([]string{"GOVC_PASSWORD=hunter2"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHand$")
	cmd.Env, cmd.ExtraFiles = []string{"SECRET_TEST_CHILD=1", variable}, []*os.File{f}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, _, err := secret.Hand([]string{strings.Repeat("x", 1<<17)}, 3); err == nil {
		t.Error("more than a pipe takes was handed over")
	}
	if err := secret.Inherit(); err != nil {
		t.Errorf("nothing was handed over: %v", err)
	}
}
