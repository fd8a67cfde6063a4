package access

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// RetrieveUserGroups searches users and groups by name.
func (r *receiver) RetrieveUserGroups(_ *simulator.Context, req *types.RetrieveUserGroups) soap.HasFault {
	var found []types.BaseUserSearchResult
	add := func(n name, group bool) {
		if req.Domain != "" && !strings.EqualFold(req.Domain, n.domain) {
			return
		}
		wanted := parseName(req.SearchStr)
		if req.ExactMatch && wanted != n && wanted != (name{user: n.user}) ||
			!req.ExactMatch && !strings.Contains(n.user, wanted.user) {
			return
		}
		found = append(found, &types.UserSearchResult{Principal: n.user, FullName: n.full(), Group: group})
	}
	if req.FindUsers {
		group := parseName(req.BelongsToGroup).in(cmp.Or(req.Domain, r.m.accounts.domain))
		for _, a := range r.m.accounts.list {
			if req.BelongsToGroup == "" || a.member(group) {
				add(a.name, false)
			}
		}
	}
	if req.FindGroups {
		for g := range r.m.accounts.groups {
			add(g, true)
		}
	}
	slices.SortStableFunc(found, func(a, b types.BaseUserSearchResult) int {
		x, y := a.GetUserSearchResult(), b.GetUserSearchResult()
		return strings.Compare(x.FullName, y.FullName)
	})
	return &methods.RetrieveUserGroupsBody{Res: &types.RetrieveUserGroupsResponse{Returnval: found}}
}
