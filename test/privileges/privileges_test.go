package privileges

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

// do runs all operations of provider and driver, each restarted with the present permissions of the accounts.
func (w *world) do(m made) map[privilege.Operation]error {
	w.t.Helper()
	failed := w.driver().operations(w.t.Context(), m)
	maps.Copy(failed, serve(w.t.Context(), w.provider()))
	maps.DeleteFunc(failed, func(_ privilege.Operation, err error) bool { return err == nil })
	return failed
}

// expect wants those operations to fail, with those words, and no others.
func expect(t *testing.T, failed map[privilege.Operation]error, want []privilege.Failure) {
	t.Helper()
	said := map[privilege.Operation]string{}
	for op, err := range failed {
		said[op] = err.Error()
	}
	for _, f := range want {
		if strings.Contains(said[f.Operation], f.Message) {
			said[f.Operation] = f.Message
		}
	}
	wanted := map[privilege.Operation]string{}
	for _, f := range want {
		wanted[f.Operation] = f.Message
	}
	if d := cmp.Diff(wanted, said); d != "" {
		t.Error(d)
	}
}

// With the roles everything works, and works still with those of options.
func TestEverythingWorks(t *testing.T) {
	for name, options := range map[string][]privilege.Option{"least": nil, "options": {privilege.FileVolumes}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, options...)
			expect(t, w.do(w.prepare(w.driver())), nil)
		})
	}
}

// Without one privilege exactly that fails which is said to, and the message names it.
func TestEachPrivilege(t *testing.T) {
	for _, r := range privilege.Roles() {
		for _, p := range r.Privileges {
			if r.System {
				continue // TestSystemPrivileges
			}
			t.Run(p.ID, func(t *testing.T) {
				t.Parallel()
				w := begin(t, option(r)...)
				m := w.prepare(w.driver())
				w.lack(r.Name, p.ID)
				expect(t, w.do(m), p.Without)
				for _, f := range p.Without {
					if !strings.Contains(f.Message, p.ID) {
						t.Errorf("%s does not name %s", f.Message, p.ID)
					}
				}
				if (p.Need == privilege.Both) != (len(p.Without) > 0) {
					t.Errorf("%d operations fail, and %s needs it", len(p.Without), p.Need)
				}
			})
		}
	}
}

// Without one grant exactly that fails which is said to.
func TestEachGrant(t *testing.T) {
	for _, g := range privilege.Grants() {
		t.Run(string(g.Component)+"/"+string(g.On)+"/"+g.Role.Name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, option(g.Role)...)
			m := w.prepare(w.driver())
			w.revoke(g)
			expect(t, w.do(m), g.Without)
		})
	}
}

// The privileges that come with every role cannot be taken out of one: a datacenter is given other roles of vCenter's own.
func TestSystemPrivileges(t *testing.T) {
	all := privilege.Always()
	by := func(id string) privilege.Privilege {
		return all[slices.IndexFunc(all, func(p privilege.Privilege) bool { return p.ID == id })]
	}
	t.Run("System.View", func(t *testing.T) {
		t.Parallel()
		w := begin(t)
		m := w.prepare(w.driver())
		for _, o := range w.sites()[privilege.Datacenter] {
			for _, user := range []string{ccmUser, csiUser} {
				err := object.NewAuthorizationManager(w.boss).SetEntityPermissions(t.Context(), o.Ref, []types.Permission{
					{Entity: &o.Ref, Principal: user, RoleId: -5, Propagate: true}, // NoAccess
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		expect(t, w.do(m), by("System.View").Without)
	})
	t.Run("System.Read", func(t *testing.T) {
		t.Parallel()
		w := beginOn(t, strings.Replace(inventory, "          folder: americas\n", "          folder: americas\n          permissions: [{user: "+
			ccmUser+", role: View}, {user: "+csiUser+", role: View}]\n", 1), privilege.Datacenter)
		v, _ := w.lab.VCenter("vc")
		expect(t, w.do(w.prepare(w.driverOf(v.User(), v.Password()))), by("System.Read").Without)
	})
	if p := by("System.Anonymous"); p.Need != privilege.Neither || len(p.Without) > 0 {
		t.Errorf("%+v", p)
	}
}

func option(r privilege.Role) []privilege.Option {
	if r.Option == "" {
		return nil
	}
	return []privilege.Option{r.Option}
}
