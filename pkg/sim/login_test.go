package sim_test

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

func TestLoginIsVerified(t *testing.T) {
	s := start(t, zones, nil)
	us, eu := s.vcenter(t, "vc-us"), s.vcenter(t, "vc-eu")
	if us.User() == eu.User() || us.Password() == eu.Password() || len(us.Password()) < 20 {
		t.Errorf("accounts %s and %s are alike, or a password is weak", us.User(), eu.User())
	}
	for _, tc := range []struct {
		name, user, password string
		ok                   bool
	}{
		{"right", us.User(), us.Password(), true},
		{"wrong password", us.User(), us.Password() + "x", false},
		{"no password", us.User(), "", false},
		{"wrong user", "root", us.Password(), false},
		{"nobody", "", "", false},
		{"vcsim's own", "user", "pass", false},
		{"a sibling's account", eu.User(), eu.Password(), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := s.soap(t, us)
			account := url.UserPassword(tc.user, tc.password)
			if err := session.NewManager(c).Login(t.Context(), account); (err == nil) != tc.ok {
				t.Errorf("SOAP: %v", err)
			}
			if err := rest.NewClient(c).Login(t.Context(), account); (err == nil) != tc.ok {
				t.Errorf("REST: %v", err)
			}
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+us.Addr()+"/api/session", nil)
			r.SetBasicAuth(tc.user, tc.password)
			res, err := c.Client.Client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if (res.StatusCode == http.StatusCreated) != tc.ok {
				t.Errorf("/api/session: status %d", res.StatusCode)
			}
		})
	}
}

func TestNoWayAroundThePassword(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.soap(t, v)
	for _, tc := range []struct{ name, method, path, body, authorization string }{
		{"JSON-RPC session, with a slash", "POST", "/api/", `{"params":{"serviceId":"com.vmware.cis.session","operationId":"create"}}`, ""},
		{"REST session by token", "POST", "/rest/com/vmware/cis/session", "", "SIGN token=x"},
		{"REST session without anything", "POST", "/rest/com/vmware/cis/session", "", ""},
		{"API session by token", "POST", "/api/session", "", "SIGN token=x"},
		{"tags without a session", "GET", "/rest/com/vmware/cis/tagging/tag", "", ""},
		{"a datastore file", "GET", "/folder/cp-1/cp-1.vmx?dcPath=/americas/dcwest&dsName=shared", "", ""},
		{"a datastore file with the key of a session", "GET", "/folder/cp-1/cp-1.vmx?dcPath=/americas/dcwest&dsName=shared&vmware_soap_session=x", "", ""},
		{"writing a datastore file", "PUT", "/folder/x?dcPath=/americas/dcwest&dsName=shared", "x", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := http.NewRequestWithContext(t.Context(), tc.method, "https://"+v.Addr()+tc.path, strings.NewReader(tc.body))
			if tc.authorization != "" {
				r.Header.Set("Authorization", tc.authorization)
			}
			if res, err := http.DefaultClient.Do(r); err == nil {
				res.Body.Close()
				t.Fatal("TLS passed without the authority")
			}
			res, err := c.Client.Client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusUnauthorized {
				t.Errorf("status %d, want 401", res.StatusCode)
			}
		})
	}

	t.Run("LoginByToken", func(t *testing.T) {
		sts, err := s.soap(t, v).Client.Client.Post("https://"+v.Addr()+"/sts/STSService/vsphere.local", "text/xml", bytes.NewReader(nil))
		if err != nil {
			t.Fatal(err)
		}
		sts.Body.Close() // there is an STS, but its tokens are worth nothing
		_, err = methods.LoginByToken(t.Context(), c, &types.LoginByToken{This: *c.ServiceContent.SessionManager})
		if err == nil {
			t.Error("a token was accepted")
		}
	})
	t.Run("nothing without a session", func(t *testing.T) {
		_, err := methods.FindByUuid(t.Context(), c, &types.FindByUuid{This: *c.ServiceContent.SearchIndex, Uuid: "x", VmSearch: true})
		if !fault.Is(err, new(types.NotAuthenticated)) {
			t.Errorf("FindByUuid: %v", err)
		}
	})
}

func TestDatastoreFileWithSession(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.login(t, v)
	res, err := c.Client.Client.Client.Get("https://" + v.Addr() + "/folder/cp-1/cp-1.nvram?dcPath=/americas/dcwest&dsName=shared")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestSetPassword(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	open := s.login(t, v)
	old := v.Password()
	if err := v.SetPassword(""); err == nil {
		t.Error("an empty password was set")
	}
	if err := v.SetPassword("rotated"); err != nil {
		t.Fatal(err)
	}
	if v.Password() != "rotated" {
		t.Errorf("password is %q", v.Password())
	}
	c := s.soap(t, v)
	for _, tc := range []struct {
		password string
		ok       bool
	}{{old, false}, {"rotated", true}} {
		account := url.UserPassword(v.User(), tc.password)
		if err := session.NewManager(c).Login(t.Context(), account); (err == nil) != tc.ok {
			t.Errorf("SOAP: %v", err)
		}
		if err := rest.NewClient(c).Login(t.Context(), account); (err == nil) != tc.ok {
			t.Errorf("REST: %v", err)
		}
	}
	if _, err := methods.GetCurrentTime(t.Context(), open); err != nil {
		t.Errorf("an open session ended: %v", err)
	}
	if u, err := open.SessionManager.UserSession(t.Context()); err != nil || u == nil {
		t.Errorf("an open session ended: %v", err)
	}
}
