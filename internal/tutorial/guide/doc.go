// Package guide walks a reader through a tutorial. It shows the text of a page, runs each command or waits until the reader has
// typed it in another terminal, compares the result with the page, explains differences, and offers to break what the page offers
// to break. It asks and answers in lines, and has no flags.
//
//	g := guide.Guide{Page: page, Runner: runner, Shelf: guide.Shelf{Dir: dir}, Lines: lines, Out: os.Stdout}
//	outcome, err := g.Run(ctx)
//
// A page is split into stops: a text, a block, or an offer. The place of a reader is the next stop and, in a block, the next
// command. It is saved before each, so that the next guide continues there after any interruption.
//
// The reader's world is the home that package tutorial runs pages in, kept between sessions on a [Shelf]: a directory for
// each page that has been begun. Programs that the reader starts there are theirs, and are not ended.
//
// Floor 2: of this module it imports internal/nearest and internal/tutorial.
package guide
