package instances

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// The cleanup after a killed sandbox reports which faults it had.
func TestReapReportsOfLeases(t *testing.T) {
	begun := func(id, kind string) string {
		return fmt.Sprintf(`{"lease":%q,"kind":%q,"targets":[{"kind":"VM","name":"worker-1","state":{}}]}`+"\n", id, kind)
	}
	const healed = `{"lease":"f1","healed":true}` + "\n"
	var many strings.Builder
	for i := range 7 {
		many.WriteString(begun(fmt.Sprintf("f%d", i+1), "vm.reset"))
	}
	for _, tc := range []struct{ name, journal, want string }{
		{"none", "", ""},
		{"one", begun("f1", "vm.power-off"), "; 1 fault ended with it: f1 vm.power-off"},
		{"healed", begun("f1", "vm.power-off") + healed, ""},
		{"one of two", begun("f1", "vm.power-off") + begun("f2", "vcenter.down") + healed, "; 1 fault ended with it: f2 vcenter.down"},
		{"two", begun("f1", "vm.power-off") + begun("f2", "vcenter.down"), "; 2 faults ended with it: f1 vm.power-off, f2 vcenter.down"},
		{"many", many.String(), "; 7 faults ended with it: f1 vm.reset, f2 vm.reset, f3 vm.reset, f4 vm.reset, f5 vm.reset, 2 more"},
		{"cut short", begun("f1", "vm.power-off") + `{"lease":"f2","ki`, "; 1 fault ended with it: f1 vm.power-off"},
		{"garbage", "x\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			dir, err := instance.Create(root, "lab")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir.Path("leases.jsonl"), []byte(tc.journal), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := dir.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := Instances{RootFunc: func() (string, error) { return root, nil }}.Reap(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"lab (0 processes ended)" + tc.want}, got); d != "" {
				t.Error(d)
			}
		})
	}
}
