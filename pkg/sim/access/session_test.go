package access_test

import (
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/fault"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// alive reports whether the client has a session.
func alive(t *testing.T, c *vim25.Client) bool {
	t.Helper()
	u, err := session.NewManager(c).UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u != nil
}

// wait begins a WaitForUpdatesEx on the client's own session and returns when it waits.
func wait(t *testing.T, c *vim25.Client, on types.ManagedObjectReference) <-chan error {
	t.Helper()
	collector, err := pc.DefaultCollector(c).Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = collector.CreateFilter(t.Context(), types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: on}},
		PropSet:   []types.PropertySpec{{Type: on.Type, PathSet: []string{"name"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := methods.WaitForUpdatesEx(t.Context(), c, &types.WaitForUpdatesEx{This: collector.Reference()})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := methods.WaitForUpdatesEx(t.Context(), c, &types.WaitForUpdatesEx{
			This: collector.Reference(), Version: set.Returnval.Version,
			Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(30)},
		})
		done <- err
	}()
	return done
}

func answer(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatal("no answer")
		return nil
	}
}

// over reports whether a wait failed because its session ended; or, when that was a moment before it began to wait,
// because the collector was gone.
func over(err error) bool {
	return fault.Is(err, &types.NotAuthenticated{}) || fault.Is(err, &types.InvalidCollectorVersion{})
}

func TestLoginSession(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	if err := v.Grant(v.root(), []topology.Permission{{User: "cpi", Role: "ReadOnly"}}); err != nil {
		t.Fatal(err)
	}
	c := v.as(t, "CPI")
	u, err := session.NewManager(c).UserSession(t.Context())
	if err != nil || u.UserName != `VSPHERE.LOCAL\cpi` || u.FullName != "cpi vsphere.local" || u.IpAddress == "" {
		t.Errorf("session is %+v, %v", u, err)
	}
	if list := v.Sessions(); len(list) != 1 || list[0].Key != u.Key || list[0].User != "cpi@vsphere.local" {
		t.Errorf("sessions are %+v", list)
	}
	if err := session.NewManager(c).Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v.end(t) != u.Key || alive(t, c) || len(v.Sessions()) != 0 {
		t.Error("session survives its logout")
	}
}

func TestRefusedLogins(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("nothing@vsphere.local")})
	c := v.client(t)
	sm := *c.ServiceContent.SessionManager
	for _, tc := range []struct {
		name string
		call func() error
		want types.BaseMethodFault
	}{
		{"wrong password", func() error {
			return session.NewManager(c).Login(t.Context(), url.UserPassword(admin, "x"))
		}, &types.InvalidLogin{}},
		{"user without any permission", func() error {
			return session.NewManager(c).Login(t.Context(), url.UserPassword("nothing", "nothing@vsphere.local"))
		}, &types.NoPermission{}},
		{"token", func() error {
			_, err := methods.LoginByToken(t.Context(), c, &types.LoginByToken{This: sm})
			return err
		}, &types.InvalidLogin{}},
		{"extension", func() error {
			_, err := methods.LoginExtensionByCertificate(t.Context(), c, &types.LoginExtensionByCertificate{This: sm, ExtensionKey: "x"})
			return err
		}, &types.InvalidLogin{}},
		{"clone without a ticket", func() error {
			_, err := methods.CloneSession(t.Context(), c, &types.CloneSession{This: sm, CloneTicket: "x"})
			return err
		}, &types.InvalidLogin{}},
		{"properties without a session", func() error {
			var s mo.SessionManager
			return mo.RetrieveProperties(t.Context(), c, c.ServiceContent.PropertyCollector, sm, &s)
		}, &types.NotAuthenticated{}},
	} {
		if err := tc.call(); !fault.Is(err, tc.want) {
			t.Errorf("%s: %v, want %T", tc.name, err, tc.want)
		}
	}
	in := v.as(t, admin)
	_, err := methods.ImpersonateUser(t.Context(), in, &types.ImpersonateUser{This: sm, UserName: admin})
	if !fault.Is(err, &types.NoPermission{}) {
		t.Errorf("impersonation: %v", err)
	}
	if err := session.NewManager(in).Login(t.Context(), url.UserPassword(admin, v.Administrator().Password)); err == nil {
		t.Error("second login on one session")
	}
}

func TestTerminateSession(t *testing.T) {
	v := newVCenter(t, access.Options{})
	keeper, victim, other := v.as(t, admin), v.as(t, admin), v.as(t, admin)
	sm := session.NewManager(keeper)
	if err := sm.TerminateSession(t.Context(), []string{v.key(t, keeper)}); !fault.Is(err, &types.InvalidArgument{}) {
		t.Errorf("own session: %v", err)
	}
	if _, err := view.NewManager(victim).CreateContainerView(t.Context(), v.root(), nil, true); err != nil {
		t.Fatal(err)
	}
	key := v.key(t, victim)
	done := wait(t, victim, v.all("VirtualMachine")[0])
	if err := sm.TerminateSession(t.Context(), []string{key, "unknown", v.key(t, other)}); !fault.Is(err, &types.NotFound{}) {
		t.Errorf("unknown session: %v", err)
	}
	if err := answer(t, done); !over(err) {
		t.Errorf("wait ended with %v", err)
	}
	if v.end(t) != key || alive(t, victim) || !alive(t, other) || !alive(t, keeper) {
		t.Error("not the first session alone has ended")
	}
	active, err := methods.SessionIsActive(t.Context(), keeper, &types.SessionIsActive{
		This: *keeper.ServiceContent.SessionManager, SessionID: key, UserName: admin,
	})
	if err != nil || active.Returnval {
		t.Errorf("session is active: %v", err)
	}
	var s mo.SessionManager
	if err := pc.DefaultCollector(keeper).RetrieveOne(t.Context(), sm.Reference(), nil, &s); err != nil || len(s.SessionList) != 2 {
		t.Errorf("%d sessions in the list, want 2: %v", len(s.SessionList), err)
	}
}

// A session that ends lets go of its views and history collectors.
func TestEndFrees(t *testing.T) {
	v := newVCenter(t, access.Options{})
	for range 40 { // a vCenter has 32 history collectors
		c := v.as(t, admin)
		_, err := methods.CreateCollectorForEvents(t.Context(), c, &types.CreateCollectorForEvents{This: *c.ServiceContent.EventManager})
		if err != nil {
			t.Fatal(err)
		}
		if v.End(admin) != 1 {
			t.Fatal("no session ended")
		}
	}
}

func TestEnd(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	if err := v.Grant(v.root(), []topology.Permission{{User: "cpi", Role: "ReadOnly"}}); err != nil {
		t.Fatal(err)
	}
	a, b := v.as(t, admin), v.as(t, "cpi")
	id, err := v.OpenREST("cpi")
	if err != nil {
		t.Fatal(err)
	}
	if n := v.End(`VSPHERE.LOCAL\CPI`); n != 2 {
		t.Errorf("%d sessions ended, want 2", n)
	}
	if _, ok := v.TouchREST(id); ok || alive(t, b) || !alive(t, a) {
		t.Error("not the user's sessions alone have ended")
	}
	if v.End("nobody") != 0 || v.EndAll() != 1 || alive(t, a) {
		t.Error("a session survives the end of all")
	}
	if err := session.NewManager(a).Login(t.Context(), url.UserPassword(admin, v.Administrator().Password)); err != nil {
		t.Errorf("login after the end: %v", err)
	}
}

func TestCloneSession(t *testing.T) {
	v := newVCenter(t, access.Options{})
	from := v.as(t, admin)
	ticket, err := session.NewManager(from).AcquireCloneTicket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to := v.client(t)
	if err := session.NewManager(to).CloneSession(t.Context(), ticket); err != nil {
		t.Fatal(err)
	}
	if v.key(t, to) == v.key(t, from) {
		t.Error("clone and original are one session")
	}
	if err := session.NewManager(v.client(t)).CloneSession(t.Context(), ticket); !fault.Is(err, &types.InvalidLogin{}) {
		t.Errorf("second use of a ticket: %v", err)
	}
	if ticket, err = session.NewManager(from).AcquireCloneTicket(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := session.NewManager(from).Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := session.NewManager(v.client(t)).CloneSession(t.Context(), ticket); !fault.Is(err, &types.InvalidLogin{}) {
		t.Errorf("ticket of a session that is over: %v", err)
	}
	if !alive(t, to) {
		t.Error("clone ended with its original")
	}
}

func TestLimit(t *testing.T) {
	v := newVCenter(t, access.Options{Sessions: topology.Sessions{Limit: 2}})
	late := v.client(t)
	first := v.as(t, admin)
	id, err := v.OpenREST(admin)
	if err != nil {
		t.Fatal(err)
	}
	err = session.NewManager(late).Login(t.Context(), url.UserPassword(admin, v.Administrator().Password))
	if status(t, v) != http.StatusServiceUnavailable || err == nil {
		t.Errorf("login beyond the limit: %v", err)
	}
	if _, err := v.OpenREST(admin); err == nil || err.Error() != "User session count is limited to 2. Existing session count is 2 for user "+admin {
		t.Errorf("REST session beyond the limit: %v", err)
	}
	if !alive(t, first) {
		t.Error("an open session is turned away")
	}
	v.CloseREST(id)
	if err := session.NewManager(late).Login(t.Context(), url.UserPassword(admin, v.Administrator().Password)); err != nil {
		t.Errorf("login after a session ended: %v", err)
	}
	if status(t, v) != http.StatusServiceUnavailable {
		t.Error("not full")
	}
	if err := session.NewManager(first).Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status(t, v) == http.StatusServiceUnavailable {
		t.Error("logout frees nothing")
	}
}

// status is what a call without a session is answered with.
func status(t *testing.T, v *vcenter) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.url.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := v.plain().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestIdle(t *testing.T) {
	v := newVCenter(t, access.Options{})
	idle, busy := v.as(t, admin), v.as(t, admin)
	key, other := v.key(t, idle), v.key(t, busy)
	done := wait(t, busy, v.all("VirtualMachine")[0])
	v.SetIdle(time.Second)
	if got := v.end(t); got != key {
		t.Fatalf("session %s ended, want the idle one", got)
	}
	if list := v.Sessions(); len(list) != 1 || list[0].Key != other {
		t.Fatal("a session ended while a call waited")
	}
	if v.End(admin) != 1 {
		t.Error("no session left")
	}
	if err := answer(t, done); !over(err) {
		t.Errorf("wait ended with %v", err)
	}
	if _, err := methods.GetCurrentTime(t.Context(), idle); err == nil {
		t.Error("call on an expired session")
	}
}

func TestIdleByOption(t *testing.T) {
	v := newVCenter(t, access.Options{})
	c := v.as(t, admin)
	for _, value := range []types.AnyType{"nonsense", int32(90), "300ms"} {
		_, err := methods.UpdateOptions(t.Context(), c, &types.UpdateOptions{
			This: *c.ServiceContent.Setting,
			ChangedValue: []types.BaseOptionValue{
				&types.OptionValue{Key: "config.vmacore.soap.sessionTimeout", Value: value},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		v.as(t, admin) // a number does no harm
	}
	for range 4 {
		v.end(t)
	}
}

// empty is the access control of a vCenter without inventory and without a server.
func empty(t testing.TB, options access.Options, settings ...types.BaseOptionValue) *access.Manager {
	t.Helper()
	ctx := simulator.NewContext()
	simulator.New(simulator.NewServiceInstance(ctx, simulator.VPX().ServiceContent, simulator.VPX().RootFolder))
	m := ctx.Map.OptionManager()
	m.Setting = append(append([]types.BaseOptionValue(nil), m.Setting...), settings...)
	options.Administrator = admin
	a, err := access.New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestIdleREST(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options access.Options
		setting types.AnyType
		lives   time.Duration // 0: for ever
	}{
		{"default", access.Options{}, nil, 30 * time.Minute},
		{"topology", access.Options{Sessions: topology.Sessions{Idle: topology.Duration(5 * time.Minute)}}, nil, 5 * time.Minute},
		{"option in minutes", access.Options{}, "90", 90 * time.Minute},
		{"option in vcsim's form", access.Options{}, "45s", 45 * time.Second},
		{"option that makes no sense", access.Options{}, "never", 30 * time.Minute},
		{"as vcsim", access.Options{Stock: stock.Set{stock.SessionIdle}}, "45s", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var settings []types.BaseOptionValue
				if tc.setting != nil {
					settings = append(settings, &types.OptionValue{Key: "config.vmacore.soap.sessionTimeout", Value: tc.setting})
				}
				m := empty(t, tc.options, settings...)
				defer m.Close()
				id, err := m.OpenREST("administrator")
				if err != nil {
					t.Fatal(err)
				}
				lives := tc.lives
				if lives == 0 {
					lives = 1000 * time.Hour
				}
				for range 3 { // each call puts the end off
					time.Sleep(lives - time.Second)
					if user, ok := m.TouchREST(id); !ok || user != admin {
						t.Fatalf("session is over, or of %q", user)
					}
				}
				time.Sleep(lives + time.Second)
				synctest.Wait()
				if n := len(m.Sessions()); (n == 0) != (tc.lives > 0) {
					t.Errorf("%d sessions left", n)
				}
				if _, ok := m.TouchREST(id); ok != (tc.lives == 0) {
					t.Errorf("session answers: %v", ok)
				}
			})
		})
	}
}

func TestREST(t *testing.T) {
	m := empty(t, access.Options{Stock: stock.Set{stock.SessionLimit}})
	defer m.Close()
	if _, err := m.OpenREST("nobody"); err == nil {
		t.Error("session of nobody")
	}
	for range 3000 { // more than a vCenter has
		if _, err := m.OpenREST(admin); err != nil {
			t.Fatal(err)
		}
	}
	id := m.Sessions()[0].Key
	m.CloseREST(id)
	m.CloseREST(id)
	m.CloseREST("unknown")
	if _, ok := m.TouchREST(id); ok {
		t.Error("session survives its end")
	}
	if n := m.EndAll(); n != 2999 {
		t.Errorf("%d sessions ended, want 2999", n)
	}
}

// One clock serves all sessions, and stops.
func TestGoroutines(t *testing.T) {
	m := empty(t, access.Options{})
	for range 100 {
		if _, err := m.OpenREST(admin); err != nil {
			t.Fatal(err)
		}
	}
	if n := clocks(t); n != 1 {
		t.Errorf("%d goroutines for 100 sessions, want 1", n)
	}
	m.Close()
	m.Close()
	// The clock's goroutine has said that it is done; it may take a moment to be gone.
	for deadline := time.Now().Add(patience); clocks(t) > 0 && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := clocks(t); n > 0 {
		t.Errorf("%d goroutines left", n)
	}
}

// clocks counts the goroutines that this package started. The count of all goroutines would not do: those of earlier tests
// may still be on their way out.
func clocks(t *testing.T) int {
	t.Helper()
	stacks := make([]byte, 1<<20)
	n := runtime.Stack(stacks, true)
	if n == len(stacks) {
		t.Fatal("the stacks of all goroutines are too long")
	}
	return strings.Count(string(stacks[:n]), "created by "+reflect.TypeFor[access.Manager]().PkgPath()+".")
}
