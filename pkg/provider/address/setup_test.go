package address_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// adapters parses "network address address… | network …". A network "-name" is that of an adapter which is not the VM's,
// and "." means no network.
func adapters(text string) []guest.Adapter {
	var list []guest.Adapter
	for spec := range strings.SplitSeq(text, "|") {
		f := strings.Fields(spec)
		if len(f) == 0 {
			continue
		}
		a := guest.Adapter{Network: strings.Trim(f[0], "-."), Virtual: strings.HasPrefix(f[0], "-")}
		a.Addresses = ips(f[1:]...)
		list = append(list, a)
	}
	return list
}

func ips(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, t := range texts {
		list = append(list, netip.MustParseAddr(t))
	}
	return list
}

// rules parses "key=value,value key=…": the subnets in, ex, not-in and not-ex; the networks in-net and ex-net; the
// families v (4 or 6 or 46); the kubelet's node IP.
func rules(t *testing.T, text string) address.Rules {
	t.Helper()
	var r address.Rules
	for setting := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "in":
			r.Nodes.InternalSubnets = subnets(value)
		case "ex":
			r.Nodes.ExternalSubnets = subnets(value)
		case "not-in":
			r.Nodes.ExcludeInternalSubnets = subnets(value)
		case "not-ex":
			r.Nodes.ExcludeExternalSubnets = subnets(value)
		case "in-net":
			r.Nodes.InternalVMNetwork = value
		case "ex-net":
			r.Nodes.ExternalVMNetwork = value
		case "v":
			for _, f := range value {
				r.Families = append(r.Families, config.IPFamily("ipv"+string(f)))
			}
		case "node":
			r.NodeIPs = ips(strings.Split(value, ",")...)
		default:
			t.Fatalf("setting %q", setting)
		}
	}
	return r
}

func subnets(text string) []netip.Prefix {
	var list []netip.Prefix
	for t := range strings.SplitSeq(text, ",") {
		list = append(list, netip.MustParsePrefix(t))
	}
	return list
}

// written returns "internal/external" for each family, or "error: reason", followed by the reasons of warnings.
func written(s address.Selection, err error) string {
	if err != nil {
		p, ok := errors.AsType[*address.Problem](err)
		if !ok {
			return fmt.Sprintf("error of type %T", err)
		}
		return "error: " + string(p.Reason)
	}
	var text strings.Builder
	for i, a := range s.Addresses {
		switch {
		case a.Kind == address.Internal && i > 0:
			text.WriteString(" " + a.IP.String() + "/")
		case a.Kind == address.Internal:
			text.WriteString(a.IP.String() + "/")
		case i == 0:
			text.WriteString("/" + a.IP.String())
		case s.Addresses[i-1].Kind == address.External:
			text.WriteString(" /" + a.IP.String())
		default:
			text.WriteString(a.IP.String())
		}
	}
	for _, w := range s.Warnings {
		text.WriteString(" " + string(w.Reason))
	}
	return text.String()
}
