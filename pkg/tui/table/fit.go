package table

// fit chooses the columns that there is room for, and their widths.
func (t *Table) fit() (columns, widths []int) {
	for i := range t.columns {
		columns = append(columns, i)
	}
	for t.least(columns) > t.width {
		worst := -1
		for n, c := range columns {
			if d := t.columns[c].Drop; d > 0 && (worst < 0 || d > t.columns[columns[worst]].Drop) {
				worst = n
			}
		}
		if worst < 0 {
			break
		}
		columns = append(columns[:worst:worst], columns[worst+1:]...)
	}
	spare, flex := t.width-t.least(columns), 0
	for _, c := range columns {
		flex += t.columns[c].Flex
	}
	for _, c := range columns {
		w := t.columns[c].Width
		if f := t.columns[c].Flex; f > 0 && spare > 0 {
			share := spare * f / flex
			w, spare, flex = w+share, spare-share, flex-f
		}
		widths = append(widths, w)
	}
	return columns, widths
}

// least is how wide some columns are at least.
func (t *Table) least(columns []int) int {
	n := max(0, len(columns)-1)
	for _, c := range columns {
		n += t.columns[c].Width
	}
	return n
}
