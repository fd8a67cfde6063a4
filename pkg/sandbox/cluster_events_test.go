package sandbox

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
)

func TestClusterEvents(t *testing.T) {
	ours := corev1.EventSource{Component: ccm.EventSource}
	for _, tc := range []struct {
		name string
		e    corev1.Event
		want []event.Event
	}{
		{name: "of somebody else", e: corev1.Event{Source: corev1.EventSource{Component: "kubelet"}, Reason: "Starting"}},
		{
			name: "a warning about a node", e: corev1.Event{
				Source: ours, Type: corev1.EventTypeWarning, Reason: "ZoneTagMissing", Message: "no tag",
				InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "worker-1"},
			},
			want: []event.Event{{
				Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "ccm.zone-tag-missing",
				Object: event.Object{Kind: "Node", Name: "worker-1"}, Message: "no tag",
			}},
		},
		{
			name: "of a vCenter", e: corev1.Event{
				Source: ours, Type: corev1.EventTypeNormal, Reason: "VCenterConnected", Message: "vCenter us (127.0.0.1): connected",
				InvolvedObject: corev1.ObjectReference{Kind: "Secret", Name: cloudconfig.Secret},
			},
			want: []event.Event{{
				Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.vcenter-connected",
				Object: event.Object{Kind: "VCenter", VCenter: "us", Name: "us"}, Message: "vCenter us (127.0.0.1): connected",
			}},
		},
		{
			name: "of a vCenter that the sandbox does not have", e: corev1.Event{
				Source: ours, Type: corev1.EventTypeNormal, Reason: "VCenterConnected", Message: "vCenter u (127.0.0.1): connected",
				InvolvedObject: corev1.ObjectReference{Kind: "Secret", Name: cloudconfig.Secret},
			},
			want: []event.Event{{
				Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.vcenter-connected",
				Object: event.Object{Kind: "Secret", Name: cloudconfig.Secret}, Message: "vCenter u (127.0.0.1): connected",
			}},
		},
		{
			name: "in the newer way", e: corev1.Event{ReportingController: ccm.EventSource, Type: corev1.EventTypeNormal, Reason: "Found", Message: "it"},
			want: []event.Event{{Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.found", Message: "it"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSandbox(t, "zones-us-eu")
			s.clusterEvent(&tc.e)
			requireEvents(t, s.log, 0, tc.want...)
		})
	}
}
