package provider

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// A login uses the current credentials of the directory.
func TestSecretsDirectory(t *testing.T) {
	dir := t.TempDir()
	put := func(key, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, key), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load("vsphere.conf", []byte("global: {server: vc.example, secretsDirectory: "+dir+"}"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want vcenter.Credentials, problem string) {
		t.Helper()
		got, err := p.credentials(context.Background(), cfg.VCenters[0])
		if got != want || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("got %+v, %v; want %+v, %q", got, err, want, problem)
		}
	}
	expect(vcenter.Credentials{}, "keys vc.example.username and vc.example.password are needed")
	put("VC.example.username", "u\n")
	put("VC.example.password", "p\n")
	expect(vcenter.Credentials{User: "u", Password: "p"}, "")
	put("VC.example.password", "next\n")
	expect(vcenter.Credentials{User: "u", Password: "next"}, "")
	put("VC.example.password", "")
	put("vc.example.vc-session-manager-url", "https://sm")
	expect(vcenter.Credentials{User: "u", SessionManagerURL: "https://sm"}, "")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	expect(vcenter.Credentials{}, "no such file or directory")
}
