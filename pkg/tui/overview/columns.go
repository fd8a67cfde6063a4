package overview

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"

// The columns, in the order of cells. Left of the seam are vSphere's, right of it Kubernetes'.
const (
	colTree = iota
	colPower
	colConnection
	colTools
	colGuest
	colSeam
	colNode
	colReady
	colTaints
	colZone
	colProvider
	colAddress
	colPods
	colVolumes
	colAge
	colFindings
	colCount
)

// cramped is the width below which only the most important is shown, abbreviated.
const cramped = 120

// wordy is the minimum width for the effects of taints.
const wordy = 180

// columns returns the columns for a width. All but the last two begin with a cell for the mark of a change; names of nodes have
// one if some differ from those of their VMs.
func columns(width int, names bool) []table.Column {
	c := make([]table.Column, colCount)
	c[colTree] = table.Column{Title: " REGION ▸ ZONE ▸ DC ▸ HOST ▸ VM", Width: 24, Flex: 2}
	c[colPower] = table.Column{Title: " POWER", Width: 12}
	c[colConnection] = table.Column{Title: " CONNECTION", Width: 13, Drop: 10}
	c[colTools] = table.Column{Title: " TOOLS", Width: 11, Drop: 9}
	c[colGuest] = table.Column{Title: " GUEST", Width: 14, Drop: 8}
	c[colSeam] = table.Column{Title: "│", Width: 1}
	c[colNode] = table.Column{Title: " NODE", Width: 18, Flex: 1, Drop: 4}
	c[colReady] = table.Column{Title: " NODE READY", Width: 17}
	c[colTaints] = table.Column{Title: " TAINTS", Width: 21, Flex: 1, Drop: 1}
	c[colZone] = table.Column{Title: " ZONE", Width: 14, Drop: 7}
	c[colProvider] = table.Column{Title: " PROVIDER", Width: 10, Drop: 11}
	c[colAddress] = table.Column{Title: " ADDRESS", Width: 18, Drop: 6}
	c[colPods] = table.Column{Title: " PODS", Width: 6, Drop: 5}
	c[colVolumes] = table.Column{Title: " VOLUMES", Width: 8, Drop: 5}
	c[colAge] = table.Column{Title: "AGE", Width: 5, Right: true, Drop: 3}
	c[colFindings] = table.Column{Title: "FINDINGS", Width: 26, Flex: 4, Drop: 2}
	if width >= wordy {
		c[colTaints].Width = 31
	}
	if width < cramped {
		c[colTree].Title, c[colTree].Width = " PLACE ▸ VM", 19
		c[colPower].Width = 8
		c[colReady].Width = 12
		c[colTaints].Width = 14
		c[colFindings].Width = 14
		for _, i := range []int{colPods, colVolumes, colAddress, colZone, colConnection, colTools, colGuest, colProvider} {
			c[i] = never(width)
		}
		if width < 100 {
			c[colAge] = never(width)
		}
	}
	if width < 60 {
		c[colTree].Width, c[colReady].Drop, c[colSeam].Drop = 11, 1, 1
	}
	if names && width >= cramped {
		c[colReady].Title = " READY"
	} else {
		c[colNode] = never(width)
	}
	return c
}

// never is a column without room.
func never(width int) table.Column { return table.Column{Width: width + 1, Drop: 99} }
