package kube_test

import (
	"testing"

	providerconfig "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// The provider refuses each malformed file; only a wrong server cannot be detected in the file.
func TestMalformedIsRefused(t *testing.T) {
	if _, err := providerconfig.Load("vsphere.conf", []byte(conf)); err != nil {
		t.Fatalf("before: %v", err)
	}
	for how, readable := range map[string]bool{
		"empty": false, "cut-short": false, "tabs": false, "unknown-key": false, "no-vcenters": false, "wrong-server": true,
	} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			r.inject("config.malformed", kv("how", how))
			if _, err := providerconfig.Load("vsphere.conf", []byte(r.conf())); (err == nil) != readable {
				t.Errorf("%v:\n%s", err, r.conf())
			}
		})
	}
}
