package apply

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// cardsDiffer compares networks and MAC addresses of the cards, in their order.
func (p *planner) cardsDiffer(v *vmChange) {
	now := cards(v.m.live)
	for i, nic := range v.m.NICs {
		if i >= len(now) {
			v.cards = true
			v.say("NIC %d on %s", i+1, nic.Network)
			continue
		}
		network := p.byKey[dcKey(v.m.dc)+"/network/"+nic.Network]
		if network == nil || networkOf(now[i]) != network.ref {
			v.cards = true
			v.say("NIC %d → %s", i+1, nic.Network)
		}
		if mac := now[i].GetVirtualEthernetCard().MacAddress; !strings.EqualFold(mac, nic.MAC) {
			v.cards, v.off = true, true
			v.say("NIC %d %s → %s", i+1, mac, nic.MAC)
		}
	}
	if extra := len(now) - len(v.m.NICs); extra > 0 {
		v.cards = true
		v.say("%d NICs less", extra)
	}
}

func cards(o *entity) []types.BaseVirtualEthernetCard {
	var all []types.BaseVirtualEthernetCard
	for _, d := range get[types.ArrayOfVirtualDevice](o, "config.hardware.device").VirtualDevice {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			all = append(all, card)
		}
	}
	return all
}

func networkOf(card types.BaseVirtualEthernetCard) ref {
	switch b := card.GetVirtualEthernetCard().Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if b.Network != nil {
			return *b.Network
		}
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return ref{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}
	}
	return ref{}
}

// cardChanges makes the cards what the topology says, as far as they are there as they are now.
func (p *planner) cardChanges(ctx context.Context, c *vim25.Client, m *machine) ([]types.BaseVirtualDeviceConfigSpec, error) {
	var changes []types.BaseVirtualDeviceConfigSpec
	add := func(op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: op, Device: d})
	}
	now := cards(m.live)
	for i, nic := range m.NICs {
		if i >= len(now) {
			card, err := p.card(ctx, c, m.placedVM, nic)
			if err != nil {
				return nil, err
			}
			add(types.VirtualDeviceConfigSpecOperationAdd, card)
			continue
		}
		backing, err := p.backing(ctx, c, m.placedVM, nic.Network)
		if err != nil {
			return nil, err
		}
		card := now[i].GetVirtualEthernetCard()
		card.Backing, card.AddressType, card.MacAddress = backing, string(types.VirtualEthernetCardMacTypeManual), nic.MAC
		add(types.VirtualDeviceConfigSpecOperationEdit, now[i].(types.BaseVirtualDevice))
	}
	for _, extra := range now[min(len(m.NICs), len(now)):] {
		add(types.VirtualDeviceConfigSpecOperationRemove, extra.(types.BaseVirtualDevice))
	}
	return changes, nil
}
