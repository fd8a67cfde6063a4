package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnsible runs a playbook with the modules community.vmware of Debian's ansible. They need a pyvmomi from 7 to 8: Debian 12's is
// older, and hack/pyvmomi fetches newer ones. Their modules for tags need VMware's SDK for REST, which Debian has not.
func TestAnsible(t *testing.T) {
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		t.Skip("ansible is not installed: apt-get install ansible")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	fetched, err := filepath.Glob(filepath.Join(cache, "vsphere-sandbox", "pyvmomi", "8.*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(fetched) == 0 {
		t.Skip("no pyvmomi 8 is there: hack/pyvmomi fetches it")
	}
	address, port := vcenter(t)
	t.Setenv("PYTHONPATH", fetched[0])
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("ANSIBLE_NOCOLOR", "1")
	t.Setenv("ANSIBLE_HOME", t.TempDir())
	t.Setenv("ANSIBLE_LOCAL_TEMP", t.TempDir())
	t.Setenv("ANSIBLE_REMOTE_TEMP", t.TempDir())
	out := run(t, "ansible-playbook", "-i", "localhost,", "-e", "address="+address, "-e", "at="+port, "-e", "ansible_python_interpreter=/usr/bin/python3", "testdata/play.yml")
	if !strings.Contains(out, "failed=0") || !strings.Contains(out, "unreachable=0") {
		t.Errorf("%s", out)
	}
}
