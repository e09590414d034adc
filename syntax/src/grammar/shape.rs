//! Shapes, layouts, tiles and shape indices.

use super::{MARK, Parser, Rule};
use crate::SyntaxKind as K;
use crate::lexer::Token;
use crate::sink::Sink;

/// Deeper tuples are not read; no real one has more than a handful of levels.
const MAX_DEPTH: u32 = 64;

/// Of more dimensions an array is not read; no real one has more than a dozen.
const MAX_DIMENSIONS: u32 = 1024;

/// An array's or a tuple's shape, with or without layouts.
pub(crate) fn shape<S: Sink>(p: &mut Parser<S>) -> Rule {
    nested(p, 0)
}

/// A shape, which is mostly `length` bytes long: those that repeat are read once, unless the sink wants to see the
/// inside.
pub(super) fn up_to<S: Sink>(p: &mut Parser<S>, length: usize) -> Rule {
    if S::INSIDE {
        return shape(p);
    }
    let (start, text) = (p.position(), &p.remaining()[..length]);
    if p.sink.knows_shape(text) {
        return unread(p, length);
    }
    shape(p)?;
    if p.position() == start + length {
        p.sink.learn_shape(text);
    }
    Ok(())
}

/// A shape that the sink does not want to see the inside of, `length` bytes long.
pub(super) fn unread<S: Sink>(p: &mut Parser<S>, length: usize) -> Rule {
    let kind = if p.remaining().starts_with('(') {
        K::TupleShape
    } else {
        K::ArrayShape
    };
    p.node(kind, |p| {
        p.raw(K::Text, length);
        Ok(())
    })
}

fn nested<S: Sink>(p: &mut Parser<S>, depth: u32) -> Rule {
    if depth > MAX_DEPTH {
        return Err(p.fail("a tuple nested at most 64 levels deep"));
    }
    if p.at(Token::LParen) {
        return p.node(K::TupleShape, |p| {
            p.bump(K::Punctuation);
            if !p.at(Token::RParen) {
                nested(p, depth + 1)?;
                while p.eat(Token::Comma, K::Punctuation) {
                    nested(p, depth + 1)?;
                }
            }
            p.expect_mark(Token::RParen, "`)` at the end of the tuple's shape")
        });
    }
    if !p.at(Token::Word) {
        return Err(p.fail("a shape"));
    }
    if p.word() == "b" && p.byte_behind() == Some(b'(') {
        // A buffer type, `b(f32[4])`.
        return p.node(K::TupleShape, |p| {
            p.bump(K::Keyword);
            p.bump(K::Punctuation);
            nested(p, depth + 1)?;
            p.expect_mark(Token::RParen, "`)` at the end of the buffer's shape")
        });
    }
    p.node(K::ArrayShape, |p| {
        p.bump(K::ElementType);
        p.expect_mark(Token::LBracket, "`[` and the dimensions")?;
        if !p.at(Token::RBracket) {
            dimension(p)?;
            let mut dimensions = 1;
            while p.eat(Token::Comma, K::Punctuation) {
                if dimensions == MAX_DIMENSIONS {
                    return Err(p.fail("an array of at most 1024 dimensions"));
                }
                dimension(p)?;
                dimensions += 1;
            }
        }
        p.expect_mark(Token::RBracket, "`]` at the end of the dimensions")?;
        // A brace behind a blank opens something else.
        if p.remaining().starts_with('{') {
            layout(p, depth)
        } else {
            Ok(())
        }
    })
}

/// `16`, `<=16` or `?`
fn dimension<S: Sink>(p: &mut Parser<S>) -> Rule {
    if p.eat(Token::Question, K::Dimension) {
        return Ok(());
    }
    p.eat(Token::LessEq, K::Punctuation);
    p.number(K::Dimension, "a dimension")
}

/// `{1,0:T(8,128)(2,1)E(4)S(1)}`
fn layout<S: Sink>(p: &mut Parser<S>, depth: u32) -> Rule {
    p.node(K::Layout, |p| {
        p.bump(K::Punctuation);
        if p.at(Token::Int) {
            p.number(K::MinorToMajor, "a dimension number")?;
            while p.eat(Token::Comma, K::Punctuation) {
                p.number(K::MinorToMajor, "a dimension number")?;
            }
        }
        if p.eat(Token::Colon, K::Punctuation) {
            while property(p, depth)? {}
        }
        p.expect_mark(Token::RBrace, "`}` at the end of the layout")
    })
}

fn property<S: Sink>(p: &mut Parser<S>, depth: u32) -> Result<bool, super::Failed> {
    // `#(u32)` and `*(u32)`: index and pointer types of sparse arrays.
    if p.at(Token::Hash) || p.at(Token::Star) {
        p.bump(K::LayoutKeyword);
        words(p)?;
        return Ok(true);
    }
    if !p.at(Token::Word) {
        return Ok(false);
    }
    let keyword = p.word();
    p.bump(K::LayoutKeyword);
    match keyword {
        "T" => {
            tile(p)?;
            while p.at(Token::LParen) {
                tile(p)?;
            }
        }
        "S" => one(p, K::MemorySpace, "a memory space number")?,
        "P" => {
            p.expect_mark(Token::LParen, "`(`")?;
            nested(p, depth + 1)?;
            p.expect_mark(Token::RParen, "`)`")?;
        }
        _ => {
            words(p)?;
            while p.at(Token::LParen) {
                words(p)?;
            }
        }
    }
    Ok(true)
}

fn one<S: Sink>(p: &mut Parser<S>, kind: K, expected: &str) -> Rule {
    p.expect_mark(Token::LParen, "`(`")?;
    p.number(kind, expected)?;
    p.expect_mark(Token::RParen, "`)`")
}

/// `(8,128)`
fn tile<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.node(K::Tile, |p| {
        p.expect_mark(Token::LParen, "`(` and a tile")?;
        loop {
            if !p.eat(Token::Star, K::TileSize) {
                p.number(K::TileSize, "a tile's extent")?;
            }
            if !p.eat(Token::Comma, K::Punctuation) {
                break;
            }
        }
        p.expect_mark(Token::RParen, "`)` at the end of the tile")
    })
}

/// `(0:8,16)`, `(4)`, `(invalid)`: numbers and words between parentheses.
fn words<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect_mark(Token::LParen, "`(`")?;
    while let Some(token) = p.peek() {
        match token {
            Token::RParen => break,
            Token::Int => p.number(K::Number, "a number")?,
            Token::Comma | Token::Colon => p.bump(K::Punctuation),
            Token::Word | Token::Other => p.bump(K::Literal),
            _ => return Err(p.fail("a number or `)`")),
        }
    }
    p.expect_mark(Token::RParen, "`)`")
}

/// A shape index: `{}`, `{1,0}`
pub(super) fn index<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.node(K::ShapeIndex, |p| {
        if p.phrase("{}", [MARK, MARK]) {
            return Ok(());
        }
        p.expect_mark(Token::LBrace, "a shape index")?;
        if p.at(Token::Int) {
            p.number(K::ShapeIndexNumber, "an element's number")?;
            while p.eat(Token::Comma, K::Punctuation) {
                p.number(K::ShapeIndexNumber, "an element's number")?;
            }
        }
        p.expect_mark(Token::RBrace, "`}` at the end of the shape index")
    })
}
