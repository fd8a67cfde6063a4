package access_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func TestValid(t *testing.T) {
	v := newVCenter(t, access.Options{Users: []topology.User{
		{Name: "cpi@vsphere.local", Password: "secret"},
		{Name: `CORP\Jane`, Password: "Jane's"},
	}})
	generated := v.Administrator().Password
	if len(generated) < 20 {
		t.Errorf("generated password has %d characters", len(generated))
	}
	for _, tc := range []struct {
		user, password string
		ok             bool
	}{
		{"administrator@vc.local", generated, true},
		{"Administrator@VC.LOCAL", generated, true},
		{`vc.local\Administrator`, generated, true},
		{"administrator", generated, true},
		{"administrator@vsphere.local", generated, false},
		{"cpi@vsphere.local", "secret", true},
		{`VSPHERE.LOCAL\cpi`, "secret", true},
		{"CPI", "secret", true},
		{"cpi@corp", "secret", false},
		{"jane@corp", "Jane's", true},
		{"jane", "Jane's", false}, // another domain than vCenter's own
		{"cpi@vsphere.local", "Secret", false},
		{"cpi@vsphere.local", "", false},
		{"", "", false},
		{"nobody", "", false},
	} {
		if got := v.Valid(&types.Login{UserName: tc.user, Password: tc.password}); got != tc.ok {
			t.Errorf("%q: %v, want %v", tc.user, got, tc.ok)
		}
	}
}

func TestSetPassword(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	if err := v.SetPassword(`vsphere.local\CPI`, "new"); err != nil {
		t.Fatal(err)
	}
	u, _ := v.User("cpi@vsphere.local")
	if u.Password != "new" || !v.Valid(&types.Login{UserName: u.Name, Password: "new"}) {
		t.Errorf("password is %q", u.Password)
	}
	if err := v.SetPassword("cpi", ""); !errors.Is(err, access.ErrNoPassword) {
		t.Errorf("empty password: %v", err)
	}
	for _, user := range []string{"nobody", v.InternalUser().Username()} {
		if err := v.SetPassword(user, "x"); !errors.Is(err, access.ErrNoUser) {
			t.Errorf("password of %s: %v", user, err)
		}
	}
}

func TestUsersHidePasswords(t *testing.T) {
	v := newVCenter(t, access.Options{Users: []topology.User{{Name: "cpi@vsphere.local", Groups: []string{"ops"}}}})
	all := v.Users()
	if len(all) != 2 || all[0].Name != admin || all[1].Name != "cpi@vsphere.local" || len(all[1].Password) < 20 {
		t.Fatalf("users are %v", all)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("login", "user", all[1])
	shown := log.String() + fmt.Sprintf("%v %+v %#v %s", all, all[0], all[1], all[1])
	for _, u := range all {
		if strings.Contains(shown, u.Password) {
			t.Errorf("password of %s shows: %s", u, shown)
		}
	}
}

// OnPassword gets each password before an account has it, and its error refuses the password.
func TestOnPassword(t *testing.T) {
	var got []string
	full := errors.New("full")
	v := newVCenter(t, access.Options{Users: []topology.User{{Name: "cpi@vsphere.local", Password: "chosen"}}, OnPassword: func(p string) error {
		if p == "refused" {
			return full
		}
		got = append(got, p)
		return nil
	}})
	if err := v.SetPassword("cpi", "next"); err != nil {
		t.Fatal(err)
	}
	if err := v.SetPassword("cpi", "refused"); !errors.Is(err, full) || !v.ValidPassword("cpi", "next") {
		t.Errorf("a refused password: %v", err)
	}
	for _, want := range []string{"chosen", "next", v.Administrator().Password} {
		if !slices.Contains(got, want) || want != "chosen" && !slices.Contains(v.Secrets(), want) {
			t.Errorf("%q: got %q, secrets now %q", want, got, v.Secrets())
		}
	}
}
