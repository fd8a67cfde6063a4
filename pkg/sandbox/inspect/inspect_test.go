package inspect

import (
	"context"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
)

func TestSecretive(t *testing.T) {
	for key, want := range map[string]bool{
		"guestinfo.userdata": true, "guestinfo.metadata": true, "guestinfo.metadata.encoding": false, "guestinfo.hostname": false,
		"guestinfo.ignition.config.data": true, "guestinfo.talos.config": true, "guestInfo.ovfEnv": true,
		"RemoteDisplay.vnc.password": true, "RemoteDisplay.vnc.key": true, "dataFileKey": true, "encryption.bundle": true, "machine.id": true,
		"disk.EnableUUID": false, "svga.vramSize": false, "migrate.encryptionMode": false,
	} {
		if secretive(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

// A tag that cannot be read takes nothing else away.
func TestTagsUnread(t *testing.T) {
	client, err := vcenter.New(vcenter.Config{Name: "us", Server: "127.0.0.1", UserAgent: "test", Insecure: true, Credentials: func(context.Context) (vcenter.Credentials, error) {
		return vcenter.Credentials{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	list := []explain.VMState{{FromHost: []explain.Object{{Type: "HostSystem", Name: "h", Ref: "host-1"}}}}
	reader{VCenter: VCenter{Client: client}}.tag(ctx, list, map[ref]entity{{Type: "HostSystem", Value: "host-1"}: {name: "h"}})
	if list[0].TagsErr == nil {
		t.Error("tags that were not read are taken for none")
	}
}
