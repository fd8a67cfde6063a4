// Package guide walks a reader through a tutorial: it shows what a page says, runs each command or waits until the reader
// has typed it in a terminal of their own, compares what there is with what the page says, explains where it differs, and
// offers to break what the page offers to break. It asks and answers in lines, and knows no flags.
//
//	g := guide.Guide{Page: page, Runner: runner, Shelf: guide.Shelf{Dir: dir}, Lines: lines, Out: os.Stdout}
//	outcome, err := g.Run(ctx)
//
// A page is flattened into stops: a text, a block, or an offer. The place of a reader is the next stop and, in a block, the
// next command; it is written down before each, so that whatever ends a guide, the next one goes on there.
//
// The reader's world is the home that package tutorial runs pages in, kept between sessions on a [Shelf]: a directory for
// each page that has been begun. Programs that the reader starts there are theirs, and are not ended.
//
// Floor 2: of this module it imports internal/nearest and internal/tutorial.
package guide
