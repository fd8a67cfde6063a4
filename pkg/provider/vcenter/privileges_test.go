package vcenter

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// The error contains the missing privileges, in the format before vSphere 8 and since; other errors are unchanged.
func TestLacking(t *testing.T) {
	root := types.ManagedObjectReference{Type: "Folder", Value: "group-d1"}
	for name, tc := range map[string]struct {
		fault types.BaseMethodFault
		want  string
	}{
		"old": {&types.NoPermission{Object: &root, PrivilegeId: "Cns.Searchable"}, "needs Cns.Searchable on Folder:group-d1"},
		"new": {
			&types.NoPermission{Object: &root, PrivilegeId: "a", MissingPrivileges: []types.NoPermissionEntityPrivileges{
				{Entity: root, PrivilegeIds: []string{"a", "b"}},
			}},
			"needs a, b on Folder:group-d1",
		},
		"of nothing": {&types.NoPermission{PrivilegeId: "a"}, "needs a"},
		"silent":     {&types.NoPermission{}, ""},
		"derived":    {&types.HostNotConnected{}, ""},
	} {
		if got := Lacking(tc.fault); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		refused := soap.WrapVimFault(tc.fault)
		want := refused.Error()
		if tc.want != "" {
			want += " (" + tc.want + ")"
		}
		got := withMissingPrivileges(fmt.Errorf("x: %w", refused))
		if got.Error() != "x: "+want || !errors.Is(got, refused) {
			t.Errorf("%s: %v, want x: %s", name, got, want)
		}
		if Denied(got) == (name == "derived") {
			t.Errorf("%s: denied is something else", name)
		}
		if again := withMissingPrivileges(got); again.Error() != got.Error() {
			t.Errorf("%s: said twice: %v", name, again)
		}
	}
	if err := errors.New("x"); !errors.Is(withMissingPrivileges(err), err) || withMissingPrivileges(nil) != nil {
		t.Error("changed")
	}
}
