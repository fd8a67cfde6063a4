package sim_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

func account(v *sim.VCenter) *url.Userinfo { return url.UserPassword(v.User(), v.Password()) }

func cert127(v *sim.VCenter) []net.IP { return []net.IP{net.ParseIP(v.Host())} }

// limited is [guarded] with limits on sessions.
func limited(limits string) string {
	return strings.Replace(guarded, "    - name: vc\n", "    - name: vc\n      sessions: "+limits+"\n", 1)
}

// gone waits until the vCenter has no session.
func gone(t *testing.T, v *sim.VCenter) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(v.Sessions()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("sessions %v", v.Sessions())
		}
	}
}

func TestIdleSessionsExpire(t *testing.T) {
	lab := sim.Start(t, limited("{idle: 200ms}"))
	v, _ := lab.VCenter("vc")
	rc := lab.REST("vc")
	boss := lab.Client("vc")
	if n := len(v.Sessions()); n < 2 {
		t.Fatalf("%d sessions", n)
	}

	// A call that waits keeps its session alive, and no other.
	p, err := property.DefaultCollector(boss.Client).Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.CreateFilter(t.Context(), types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: boss.ServiceContent.RootFolder}},
		PropSet:   []types.PropertySpec{{Type: "Folder", PathSet: []string{"name"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := p.WaitForUpdates(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	waiting := types.WaitForUpdatesEx{This: p.Reference(), Version: set.Version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(1)}}
	if _, err := methods.WaitForUpdatesEx(t.Context(), boss.Client, &waiting); err != nil {
		t.Errorf("a wait that is longer than a session lives: %v", err)
	}
	if s := v.Sessions(); len(s) != 1 || s[0].REST {
		t.Errorf("sessions %v", s)
	}

	gone(t, v)
	if _, err := methods.GetCurrentTime(t.Context(), boss); !fault.Is(err, new(types.NotAuthenticated)) {
		t.Errorf("SOAP: %v", err)
	}
	if _, err := tags.NewManager(rc).ListCategories(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("REST: %v", err)
	}
}

func TestTerminateSession(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	boss, cpi := lab.Client("vc"), lab.ClientAs("vc", "cpi@vsphere.local", "secret of cpi")
	own, err := cpi.SessionManager.UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mine, err := boss.SessionManager.UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := cpi.SessionManager.TerminateSession(t.Context(), []string{mine.Key}); !fault.Is(err, new(types.NoPermission)) {
		t.Errorf("a user without the privilege: %v", err)
	}
	if err := boss.SessionManager.TerminateSession(t.Context(), []string{own.Key}); err != nil {
		t.Fatal(err)
	}
	if _, err := methods.GetCurrentTime(t.Context(), cpi); !fault.Is(err, new(types.NotAuthenticated)) {
		t.Errorf("err = %v", err)
	}
	if n := v.EndSessions(v.User()); n != 1 {
		t.Errorf("%d sessions ended", n)
	}
	gone(t, v)
}

func TestSessionsAreLimited(t *testing.T) {
	lab := sim.Start(t, limited("{limit: 2}"))
	v, _ := lab.VCenter("vc")
	first, _ := lab.Client("vc"), lab.Client("vc")
	login := func() error {
		// Even the content of the service is asked for without a session.
		c, err := vim25.NewClient(t.Context(), verifying(t, lab, v))
		if err != nil {
			return err
		}
		return session.NewManager(c).Login(t.Context(), account(v))
	}
	if err := login(); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a third: %v", err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+v.Addr()+"/api/session", nil)
	r.SetBasicAuth(v.User(), v.Password())
	res, err := first.Client.Client.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("REST: status %d", res.StatusCode)
	}
	if _, err := methods.GetCurrentTime(t.Context(), first); err != nil {
		t.Errorf("one of the two: %v", err)
	}
	if err := first.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := login(); err != nil {
		t.Errorf("when one has left: %v", err)
	}
}

// TestKeysOfSessionsAreNoSecrets: what a user who may read sees of sessions does not let anybody in.
func TestKeysOfSessionsAreNoSecrets(t *testing.T) {
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	lab.REST("vc")
	cpi := lab.ClientAs("vc", "cpi@vsphere.local", "secret of cpi")
	var m mo.SessionManager
	get(t, cpi, *cpi.ServiceContent.SessionManager, &m, "sessionList")
	if len(m.SessionList) < 2 {
		t.Fatalf("sessions %v", m.SessionList)
	}
	for _, other := range m.SessionList {
		thief := anonymous(t, lab, v)
		thief.Jar.SetCookies(v.URL(), []*http.Cookie{{Name: soap.SessionCookieName, Value: other.Key}})
		if _, err := methods.GetCurrentTime(t.Context(), thief); !fault.Is(err, new(types.NotAuthenticated)) {
			t.Errorf("the key of %s's session: %v", other.UserName, err)
		}
		volumes, err := cns.NewClient(t.Context(), thief)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := volumes.QueryVolume(t.Context(), new(cnstypes.CnsQueryFilter)); err == nil {
			t.Errorf("the key of %s's session opens CNS", other.UserName)
		}
		policies, err := pbm.NewClient(t.Context(), thief)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := policies.ProfileIDByName(t.Context(), "vSAN Default Storage Policy"); err == nil {
			t.Errorf("the key of %s's session opens PBM", other.UserName)
		}
	}
}

// TestManyLoginsAtOnce: clients that all begin at the same moment all get in, and leave nothing behind.
func TestManyLoginsAtOnce(t *testing.T) {
	const clients = 200
	lab := sim.Start(t, guarded)
	v, _ := lab.VCenter("vc")
	c := anonymous(t, lab, v)
	begin := time.Now()
	var all sync.WaitGroup
	failed := make(chan error, 2*clients)
	for i := range clients {
		all.Go(func() {
			if i%4 == 0 {
				rc := rest.NewClient(&vim25.Client{Client: c.NewServiceClient("/rest", "")})
				if err := rc.Login(t.Context(), account(v)); err != nil {
					failed <- err
				}
				return
			}
			own, err := vim25.NewClient(t.Context(), c.NewServiceClient(vim25.Path, vim25.Namespace))
			if err != nil {
				failed <- err
				return
			}
			if own.Jar, err = cookiejar.New(nil); err != nil {
				failed <- err
				return
			}
			m := session.NewManager(own)
			if err := m.Login(t.Context(), account(v)); err != nil {
				failed <- err
				return
			}
			if u, err := m.UserSession(t.Context()); err != nil || u == nil {
				failed <- fmt.Errorf("session %v, %w", u, err)
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if n := len(v.Sessions()); n != clients {
		t.Errorf("%d sessions", n)
	}
	t.Logf("%d logins in %s", clients, time.Since(begin).Round(time.Millisecond))
	keys := map[string]bool{}
	for _, s := range v.Sessions() {
		keys[s.Key] = true
	}
	if len(keys) != clients {
		t.Errorf("%d different keys", len(keys))
	}
	if n := v.EndSessions(""); n != clients {
		t.Errorf("%d sessions ended", n)
	}
}

// TestPasswordsAreNotReported looks for passwords where they are not to be.
func TestPasswordsAreNotReported(t *testing.T) {
	var logged strings.Builder
	var mu sync.Mutex
	s := start(t, guarded, func(o *sim.Options) {
		o.Logger = slog.New(slog.NewJSONHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return logged.Write(p)
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	v := s.vcenter(t, "vc")
	c := s.soap(t, v)
	wrong := session.NewManager(c).Login(t.Context(), url.UserPassword(v.User(), "not the password"))
	refused := v.SetPasswordOf("who", v.Password())
	s.login(t, v)
	s.rest(t, v)
	calls, err := json.Marshal(v.Gate().Recent())
	if err != nil {
		t.Fatal(err)
	}
	events, _ := s.events.Read(0, 0)
	mu.Lock()
	defer mu.Unlock()
	for where, text := range map[string]string{
		"log": logged.String(), "calls": string(calls), "events": fmt.Sprintf("%+v", events),
		"users": fmt.Sprintf("%v %+v %#v", v.Users(), v.Users(), v.Users()), "errors": fmt.Sprint(wrong, refused),
	} {
		for _, secret := range []string{v.Password(), "secret of cpi", "not the password"} {
			if strings.Contains(text, secret) {
				t.Errorf("a password is in the %s: %s", where, text)
			}
		}
		for _, open := range v.Sessions() {
			if open.REST && strings.Contains(text, open.Key) {
				t.Errorf("a REST session is in the %s", where)
			}
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
