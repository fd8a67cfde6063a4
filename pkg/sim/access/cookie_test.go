package access_test

import (
	"net/http"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// TestKeyOfASessionOpensNothing: what a user reads of the sessions of others is no way into them.
func TestKeyOfASessionOpensNothing(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("reader@vsphere.local")})
	if err := v.Grant(v.root(), []topology.Permission{{User: "reader", Role: "ReadOnly"}}); err != nil {
		t.Fatal(err)
	}
	boss, reader := v.as(t, admin), v.as(t, "reader")
	var m mo.SessionManager
	if err := property.DefaultCollector(reader).RetrieveOne(t.Context(), *reader.ServiceContent.SessionManager, []string{"sessionList"}, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.SessionList) != 2 {
		t.Fatalf("%d sessions", len(m.SessionList))
	}
	for _, s := range m.SessionList {
		thief := v.client(t)
		thief.Jar.SetCookies(v.url, []*http.Cookie{{Name: soap.SessionCookieName, Value: s.Key}})
		if alive(t, thief) {
			t.Errorf("the key of %s's session opens it", s.UserName)
		}
		if _, _, ok := v.Identify(s.Key, ""); ok {
			t.Errorf("the key of %s's session identifies it", s.UserName)
		}
	}

	// The cookie does, and leads to the key.
	for _, c := range boss.Jar.Cookies(v.url) {
		if key, user, ok := v.Identify(c.Value, ""); !ok || key != v.key(t, boss) || user != admin {
			t.Errorf("cookie identifies %q, %q, %v", key, user, ok)
		}
	}
}
