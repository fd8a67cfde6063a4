package provider

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// A setting that needs another connection takes effect when that works. Otherwise the old session stays in use and an event reports
// it; the setting takes effect automatically when the connection works.
func TestReloadConnection(t *testing.T) {
	w := follow(t, nil, nil)
	other, err := cert.NewCA("another")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "other.crt")
	replaceFile(t, ca, string(other.Cert))
	before := w.one("us")
	w.edit(func(c conf) { c.section("vcenter", "us")["caFile"] = ca })
	w.expectEvent(ReasonConfigDelayed, "changed: vcenter.us.caFile:", "unknown authority")
	w.served(idNode("w1", w1UUID))
	if w.one("us") != before {
		t.Error("another session")
	}
	good, err := os.ReadFile(w.lab.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	eu := w.one("eu")
	replaceFile(t, ca, string(good))
	w.expectEvent(ReasonConfigReloaded, "in force: vcenter.us.caFile")
	w.served(idNode("w1", w1UUID))
	if after := w.one("us"); after == before {
		t.Error("the same session with other settings")
	}
	if w.one("eu") != eu {
		t.Error("another session at the vCenter that nothing changed about")
	}
}

// A change that does not work yet is replaced by the next one.
func TestReloadConnectionTakenBack(t *testing.T) {
	w := follow(t, nil, nil)
	before := w.one("us")
	w.edit(func(c conf) { c.section("vcenter", "us")["caFile"] = filepath.Join(t.TempDir(), "missing") })
	w.expectEvent(ReasonConfigDelayed, "vcenter.us.caFile", "no such file")
	w.edit(nil)
	w.expectEvent(ReasonConfigReloaded, "in force unchanged")
	w.served(idNode("w1", w1UUID))
	if w.one("us") != before {
		t.Error("another session")
	}
}

// The file of certificate authorities may change together with the certificate, without a restart.
func TestReloadAuthorities(t *testing.T) {
	w := follow(t, nil, nil)
	next, err := cert.NewCA("next")
	if err != nil {
		t.Fatal(err)
	}
	w.served(idNode("w1", w1UUID))
	replaceFile(t, w.lab.CAFile, string(w.lab.CA())+string(next.Cert))
	w.expectEvent(ReasonConfigReloaded, "in force for new connections: ", "vcenter.us.caFile (its content)")
	v, _ := w.lab.VCenter("us")
	pair, err := next.Sign(cert.Leaf{CommonName: "us", IPs: []net.IP{net.ParseIP(v.Host())}})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Gate().SetCertificate(pair.TLS()); err != nil {
		t.Fatal(err)
	}
	v.Gate().CutConnections()
	eventually(t, "served again", func() error {
		_, err := w.InstanceExists(t.Context(), idNode("x", unknown))
		return err
	})
	w.one("us")
}

// A vCenter that is renamed in the file is the same one: no node is reported gone.
func TestReloadTenantRenamed(t *testing.T) {
	w := follow(t, nil, nil)
	w.edit(func(c conf) {
		vcs := c.section("vcenter")
		vcs["europe"] = vcs["eu"]
		delete(vcs, "eu")
	})
	w.expectEvent(ReasonConfigReloaded, "vcenter.eu", "vcenter.europe")
	n := idNode("eu1", eu1UUID)
	w.zone(n, "eu/eu-all")
	w.stays(n)
	w.one("eu")
}

// Each setting of a connection needs a new one; for a short time there are two, then one.
func TestReloadConnectionSettings(t *testing.T) {
	for name, edit := range map[string]func(c conf, v *sim.VCenter){
		"insecureFlag":       func(c conf, _ *sim.VCenter) { c["insecureFlag"] = true },
		"soapRoundtripCount": func(c conf, _ *sim.VCenter) { c["soapRoundtripCount"] = 5 },
		"thumbprint": func(c conf, v *sim.VCenter) {
			block, _ := pem.Decode(v.Certificate())
			sum := sha256.Sum256(block.Bytes)
			c["thumbprint"] = strings.ToUpper(strings.Trim(strings.ReplaceAll(fmt.Sprintf("% x", sum), " ", ":"), ":"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := follow(t, nil, nil)
			us, eu := w.one("us"), w.one("eu")
			v, _ := w.lab.VCenter("us")
			w.edit(func(c conf) { edit(c.section("vcenter", "us"), v) })
			w.expectEvent(ReasonConfigReloaded, "in force: vcenter.us."+name)
			if w.one("us") == us || w.one("eu") != eu {
				t.Error("not a new session at the one vCenter alone")
			}
			w.served(idNode("w1", w1UUID))
		})
	}
}
