package store

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func readTasks(ctx context.Context, c *vim25.Client, ids []ref) ([]types.TaskInfo, error) {
	var found []mo.Task
	if err := property.DefaultCollector(c).Retrieve(ctx, ids, []string{"info"}, &found); err != nil {
		return nil, err
	}
	infos := make([]types.TaskInfo, len(found))
	for i, t := range found {
		infos[i] = t.Info
		infos[i].Task = t.Self
	}
	return infos, nil
}

// recentTasks reads the tasks of a vCenter that are running or ended recently.
func recentTasks(ctx context.Context, c *vim25.Client) ([]types.TaskInfo, error) {
	res, err := property.DefaultCollector(c).RetrieveProperties(ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{{
		PropSet: []types.PropertySpec{{Type: "Task", PathSet: []string{"info"}}},
		ObjectSet: []types.ObjectSpec{{
			Obj: *c.ServiceContent.TaskManager, Skip: new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "TaskManager", Path: "recentTask"}},
		}},
	}}})
	if err != nil {
		return nil, err
	}
	var infos []types.TaskInfo
	for _, content := range res.Returnval {
		for _, p := range content.PropSet {
			if info, ok := p.Val.(types.TaskInfo); ok {
				info.Task = content.Obj
				infos = append(infos, info)
			}
		}
	}
	return infos, nil
}

func contains(list []ref, id ref) bool { return slices.Contains(list, id) }

func without(list []ref, id ref) []ref {
	return slices.DeleteFunc(slices.Clone(list), func(r ref) bool { return r == id })
}

func intersection(a, b []ref) []ref {
	return slices.DeleteFunc(slices.Clone(a), func(r ref) bool { return !slices.Contains(b, r) })
}
