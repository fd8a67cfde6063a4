package provider

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// The reasons of the events that say how a vCenter's connection fares.
const (
	ReasonConnected   = "VCenterConnected"
	ReasonLoginFailed = "VCenterLoginFailed"
	ReasonUnreachable = "VCenterUnreachable"
	// ReasonCredentialsMissing: the credentials are no longer where they were. The session made with them stays in use.
	ReasonCredentialsMissing = "VCenterCredentialsMissing"
	ReasonCredentialsFound   = "VCenterCredentialsFound"
	// ReasonCredentialsRotated: a session was made with changed credentials.
	ReasonCredentialsRotated = "VCenterCredentialsRotated"
)

// state is told every outcome of an attempt to connect. It becomes an event once per change of reason, about the Secret
// with the credentials, or about the Pod when these are elsewhere; without either it is in the log alone.
func (n *notifier) state(vc config.VCenter, s vcenter.State) {
	n.do(func() {
		kind, reason, message := describe(vc, s)
		n.about(vc, vc.Tenant, kind, reason, message)
		if s.Rotations > n.rotations[vc.Tenant] {
			n.send(vc, corev1.EventTypeNormal, ReasonCredentialsRotated, subject(vc)+"logged in with new credentials, which are in use now")
		}
		n.rotations[vc.Tenant] = s.Rotations
	})
}

// credentials is told when the place of a vCenter's credentials has changed: err is what they lack now. Of a vCenter that
// is not connected, its client tells that itself.
func (n *notifier) credentials(vc config.VCenter, connected bool, err error) {
	n.do(func() {
		key := "credentials of " + vc.Tenant
		switch {
		case err != nil && connected:
			n.about(vc, key, corev1.EventTypeWarning, ReasonCredentialsMissing, subject(vc)+err.Error()+"; the session made with the credentials before stays in use")
		case err == nil && n.last[key] == ReasonCredentialsMissing:
			n.about(vc, key, corev1.EventTypeNormal, ReasonCredentialsFound, subject(vc)+"there are credentials again")
		}
	})
}

// about tells something of a vCenter. The same reason is told once, until another of that key is.
func (n *notifier) about(vc config.VCenter, key, kind, reason, message string) {
	if n.last[key] != reason && n.send(vc, kind, reason, message) {
		n.last[key] = reason
	}
}

// send writes an event on the Secret with a vCenter's credentials, or on the Pod when these are elsewhere. It returns
// false when there is neither.
func (n *notifier) send(vc config.VCenter, kind, reason, message string) bool {
	object := secretObject(vc)
	if object == nil {
		object = n.ownPod()
	}
	if object == nil {
		return false
	}
	n.recorder.Event(object, kind, reason, note(message))
	return true
}

func subject(vc config.VCenter) string { return "vCenter " + vc.Tenant + " (" + vc.Server + "): " }

// describe words an event. Errors of package vcenter name the user, never the password.
func describe(vc config.VCenter, s vcenter.State) (kind, reason, message string) {
	switch {
	case s.Err == nil:
		return corev1.EventTypeNormal, ReasonConnected, subject(vc) + "connected"
	case errors.Is(s.Err, vcenter.ErrInvalidLogin), errors.Is(s.Err, vcenter.ErrNoCredentials):
		stays := ""
		if s.Connected {
			stays = "the session made with the credentials before stays in use"
		}
		return corev1.EventTypeWarning, ReasonLoginFailed, subject(vc) + sentence(wording(s.Err.Error()), stays, remedy(s.Err))
	}
	return corev1.EventTypeWarning, ReasonUnreachable, subject(vc) + sentence(wording(s.Err.Error()), remedy(s.Err))
}
