package access_test

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Logins, calls, changes of permissions and the ends of sessions at once: nothing stalls, and nothing is left.
func TestStorm(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	dcs := v.all("Datacenter")
	v.grant(t, dcs[0], "cpi", "ReadOnly", "")
	go func() {
		for range v.ended {
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	clients := []string{admin, "cpi"}
	vm := v.all("VirtualMachine")[0]
	together(6, func(i int) {
		user := clients[i%2]
		u, _ := v.User(user)
		c := v.client(t)
		for ctx.Err() == nil {
			_ = session.NewManager(c).Login(t.Context(), url.UserPassword(user, u.Password)) // InvalidLogin while there is a session
			for range 5 {
				_, _ = methods.PowerOnVM_Task(t.Context(), c, &types.PowerOnVM_Task{This: vm})
			}
			switch i {
			case 0:
				v.EndAll()
			case 1:
				v.End("cpi")
			case 2:
				role := []string{"ReadOnly", "NoAccess", "Admin"}[int(time.Now().UnixNano())%3]
				if err := v.Grant(dcs[1], []topology.Permission{{User: "cpi", Role: role}}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	v.EndAll()
	if n := len(v.Sessions()); n != 0 {
		t.Errorf("%d sessions left", n)
	}
}

// vcsim starts a goroutine for each login that lives until the session's timeout; ours does not.
func TestLoginsLeaveNothing(t *testing.T) {
	v := newVCenter(t, access.Options{})
	c := v.as(t, admin)
	_, err := methods.UpdateOptions(t.Context(), c, &types.UpdateOptions{
		This:         *c.ServiceContent.Setting,
		ChangedValue: []types.BaseOptionValue{&types.OptionValue{Key: "config.vmacore.soap.sessionTimeout", Value: "1h"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	login := url.UserPassword(admin, v.Administrator().Password)
	sm := session.NewManager(c)
	before := runtime.NumGoroutine()
	for range 50 {
		if err := sm.Logout(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := sm.Login(t.Context(), login); err != nil {
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine() - before; n > 10 {
		t.Errorf("%d goroutines for 50 logins", n)
	}
}

func BenchmarkVisible(b *testing.B) {
	for _, restricted := range []bool{false, true} {
		b.Run(fmt.Sprintf("restricted=%v", restricted), func(b *testing.B) {
			options := access.Options{}
			user := admin
			if restricted {
				options.Users = users("cpi@vsphere.local")
				user = "cpi"
			}
			v := newVCenter(b, options)
			if restricted {
				v.grant(b, v.root(), user, "ReadOnly", "")
			}
			c := v.as(b, user)
			ctx := vc.Fresh(v.ctx)
			ctx.Session = &simulator.Session{UserSession: types.UserSession{Key: v.key(b, c), UserName: "any"}}
			vm := v.all("VirtualMachine")[0]
			for b.Loop() {
				if !v.Visible(ctx, vm) {
					b.Fatal("not visible")
				}
			}
		})
	}
}
