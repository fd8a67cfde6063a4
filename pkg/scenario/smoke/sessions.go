package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// session is one that somebody has at a vCenter.
type session struct {
	vcenter, key, agent string
	since               time.Time
}

// sessionsOf lists those that cloud controller managers have at all vCenters, as the administrator sees them.
func sessionsOf(ctx context.Context, sandbox *scenario.Running) ([]session, error) {
	status, err := sandbox.Status(ctx)
	if err != nil {
		return nil, err
	}
	var all []session
	for _, vc := range status.VCenters {
		out, err := sandbox.Command(ctx, scenario.Command{Argv: []string{"govc", "--vcenter", vc.Name, "session.ls", "-json"}})
		if err != nil {
			return nil, err
		}
		if out.Exit != 0 {
			return nil, fmt.Errorf("vcenter %q: govc session.ls: exit status %d: %s", vc.Name, out.Exit, out.Stderr)
		}
		list, err := readSessions(vc.Name, []byte(out.Stdout))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// readSessions reads what govc writes, and leaves out those of others.
func readSessions(vcenter string, data []byte) ([]session, error) {
	var told struct {
		SessionList []struct {
			Key       string    `json:"key"`
			UserAgent string    `json:"userAgent"`
			LoginTime time.Time `json:"loginTime"`
		} `json:"sessionList"`
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return nil, fmt.Errorf("vcenter %q: sessions: %w", vcenter, err)
	}
	var all []session
	for _, s := range told.SessionList {
		if expect.Match(expect.Agent("ccm"), s.UserAgent) {
			all = append(all, session{vcenter, s.Key, s.UserAgent, s.LoginTime})
		}
	}
	return all, nil
}

// leftOf are those of before that are still there.
func leftOf(before, now []session) []session {
	var left []session
	for _, s := range before {
		if slices.ContainsFunc(now, func(n session) bool { return n.vcenter == s.vcenter && n.key == s.key }) {
			left = append(left, s)
		}
	}
	return left
}
