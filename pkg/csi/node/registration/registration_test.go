package registration_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/registration"
)

func TestAnnouncement(t *testing.T) {
	var reported []string
	a := &registration.Announcement{Driver: "d", Endpoint: "/csi.sock", OnStatus: func(failure string) { reported = append(reported, failure) }}
	info, err := a.GetInfo(t.Context(), &registerapi.InfoRequest{})
	if err != nil || info.Name != "d" || info.Endpoint != "/csi.sock" || info.Type != registerapi.CSIPlugin || !slices.Equal(info.SupportedVersions, []string{"1.0.0"}) {
		t.Errorf("%v %v", info, err)
	}
	for _, s := range []*registerapi.RegistrationStatus{{PluginRegistered: true}, {Error: "no handler"}, {}} {
		if _, err := a.NotifyRegistrationStatus(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"", "no handler", "not registered; kubelet gave no reason"}, reported); diff != "" {
		t.Error(diff)
	}
}
