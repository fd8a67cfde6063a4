package corrections

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMoveDir(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(from, "vm"), filepath.Join(to, "vm"), filepath.Join(to, "vm_1")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(from, "vm", "vm.vmx"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := moveDir(from, to, "vm")
	if err != nil || name != "vm_2" {
		t.Fatalf("moved to %q, %v", name, err)
	}
	if _, err := os.Stat(filepath.Join(to, "vm_2", "vm.vmx")); err != nil {
		t.Error(err)
	}
	if _, err := moveDir(from, to, "vm"); err == nil {
		t.Error("moved a directory that is not there")
	}
}
